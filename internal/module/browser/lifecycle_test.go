package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/internal/module/browser/process"
	"callgate/internal/programtest"
	"callgate/tool"
)

// kernelURL is set for a process that opens the module and navigates to the URL. It
// prints what came of it, waits until its input ends, closes the module, and prints that.
const kernelURL = "CALLGATE_BROWSER_TEST_URL"

func runKernel() {
	opened, err := browser.Module().Open(module.Host{})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	m := browser.Module()
	s, err := m.Read(map[string]any{"timeout_seconds": 30}, map[string]any{"private_hosts": []any{"127.0.0.1"}})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	for _, one := range opened.Tools {
		if one.ID.Name != "navigate" {
			continue
		}
		raw, _ := json.Marshal(map[string]any{"url": os.Getenv(kernelURL)})
		call := tool.Call{Args: raw, Principal: tool.Principal{Session: "s"}}
		r, err := one.Handler.Execute(context.Background(), call, tool.Grant{Settings: s})
		if err == nil {
			fmt.Println("navigated:", r.Summary)
		} else {
			fmt.Println("failed:", strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("closed:", opened.Close())
}

// kernel is such a process.
type kernel struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string // what it prints; closed at its end
}

// startKernel starts a process whose browser has its folder in temp.
func startKernel(t testing.TB, temp, url string) *kernel {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), kernelURL+"="+url, "TMPDIR="+temp)
	stdin, err := cmd.StdinPipe()
	check(t, err)
	stdout, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	k := &kernel{cmd, stdin, make(chan string, 10)}
	go func() {
		defer close(k.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			k.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		for range k.lines { // until it has ended
		}
		_ = cmd.Wait()
	})
	return k
}

// expect reads a line that begins with a prefix.
func (k *kernel) expect(t testing.TB, prefix string) {
	t.Helper()
	if line := <-k.lines; !strings.HasPrefix(line, prefix) {
		t.Fatalf("the kernel said %q, want %q", line, prefix)
	}
}

// processes lists the processes whose command line contains a text, each as its id and
// its command line.
func processes(t testing.TB, text string) (all []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), text) {
			all = append(all, filepath.Base(filepath.Dir(name))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// kill kills those of the processes that match, and returns how many.
func kill(t testing.TB, all []string, match func(commandLine string) bool) (killed int) {
	t.Helper()
	for _, line := range all {
		id, commandLine, _ := strings.Cut(line, " ")
		if !match(commandLine) {
			continue
		}
		pid, err := strconv.Atoi(id)
		check(t, err)
		p, err := os.FindProcess(pid)
		check(t, err)
		if p.Kill() == nil {
			killed++
		}
	}
	return killed
}

func browserFolders(t testing.TB, temp string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(temp, "callgate-browser-*"))
	check(t, err)
	return all
}

// shortTemp makes a temporary folder. Its path is short enough for the sockets of a browser, which would be elsewhere
// otherwise.
func shortTemp(t testing.TB) string {
	t.Helper()
	const longest = 20 // of a folder in which it is made
	system, err := filepath.Abs(os.TempDir())
	check(t, err)
	if len(system) > longest && runtime.GOOS != "windows" {
		system = "/tmp"
	}
	temp, err := os.MkdirTemp(system, "cg")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	return temp
}

// eventually waits for a condition that another process makes true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in 20 seconds: %s", what)
		}
	}
}

func needProc(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	needBrowser(t)
}

// The browser dies with the kernel, whatever its pages do, and the next kernel removes
// what it left.
func TestNothingOutlivesTheKernel(t *testing.T) {
	t.Parallel()
	needProc(t)
	busy := make(chan struct{}, 2)
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/calm":
			fmt.Fprint(w, `<p>calm</p><iframe src="data:text/html,x"></iframe>`)
		case "/busy": // the page and its worker report, and then never return
			const spin = `const r = new XMLHttpRequest(); r.open("GET", "%s/is-busy", false); r.send(); for (;;);`
			script := fmt.Sprintf(spin, "http://"+r.Host)
			fmt.Fprintf(w, `<p>busy</p><script>new Worker(URL.createObjectURL(new Blob([%q]))); %s</script>`, script, script)
		case "/is-busy":
			w.Header().Set("Access-Control-Allow-Origin", "*")
			busy <- struct{}{}
		}
	})
	for _, path := range []string{"/calm", "/busy"} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			temp := shortTemp(t)
			k := startKernel(t, temp, web.URL+path)
			if path == "/calm" {
				k.expect(t, "navigated: opened")
			} else {
				select {
				case <-busy:
				case line := <-k.lines:
					t.Fatalf("the kernel said %q before the page was busy", line)
				}
			}
			folder := filepath.Join(temp, "callgate-browser-")
			before := processes(t, folder)
			if len(before) < 4 || len(browserFolders(t, temp)) != 1 {
				t.Fatalf("only these processes ran: %q", before)
			}
			check(t, k.cmd.Process.Kill())
			eventually(t, "the browser's processes end", func() bool { return len(processes(t, folder)) == 0 })
			if len(browserFolders(t, temp)) != 1 {
				t.Fatal("the folder of the browser was removed, so its removal proves nothing")
			}
			next := startKernel(t, temp, web.URL+"/calm")
			next.expect(t, "navigated: opened")
			if left := browserFolders(t, temp); len(left) != 1 {
				t.Errorf("the next kernel has the folders %q", left)
			}
			check(t, next.stdin.Close())
			next.expect(t, "closed: <nil>")
			if left := browserFolders(t, temp); len(left) != 0 {
				t.Errorf("after the end there are the folders %q", left)
			}
			if left := processes(t, folder); len(left) != 0 {
				t.Errorf("after the end there are the processes %q", left)
			}
		})
	}
}

// markedBrowser returns the path of a browser whose process has a unique argument, so
// that a test finds the processes of its own browser.
func markedBrowser(t testing.TB) (executable, mark string) {
	t.Helper()
	needProc(t)
	path, err := process.Find("")
	check(t, err)
	dir := t.TempDir()
	mark = "--test-mark=" + dir
	executable = filepath.Join(dir, "browser")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" '%s'\n", path, mark)
	programtest.Write(t, executable, script)
	return executable, mark
}

// folderOf returns the folder of the browser with a mark.
func folderOf(t testing.TB, mark string) string {
	t.Helper()
	for _, line := range processes(t, mark) {
		if _, after, ok := strings.Cut(line, "--user-data-dir="); ok {
			folder, _, _ := strings.Cut(after, " ")
			return folder
		}
	}
	t.Fatal("the browser is not found")
	return ""
}

// A browser that dies is replaced, and the next call is told.
func TestBrowserDies(t *testing.T) {
	t.Parallel()
	executable, mark := markedBrowser(t)
	f := openModule(t)
	s := f.session("", settings{"executable": executable}, local())
	web := site(t, map[string]string{"/": `<p>hello</p>`})
	s.call("navigate", args{"url": web.URL})
	first := folderOf(t, mark)
	killed := kill(t, processes(t, first), func(line string) bool { return !strings.Contains(line, "--type=") })
	if killed == 0 {
		t.Fatal("the browser was not killed")
	}
	eventually(t, "a new browser, without a page, takes the place of the dead one", func() bool {
		_, err := s.try("read", args{})
		return tool.KindOf(err) == tool.NotFound
	})
	s.call("navigate", args{"url": web.URL})
	contains(t, s.text(args{}), "hello")
	second := folderOf(t, mark)
	check(t, f.opened.Close())
	for _, folder := range []string{first, second} {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is left", folder)
		}
	}
}

// A page whose process dies leaves a tab that says so, and the browser goes on.
func TestCrash(t *testing.T) {
	t.Parallel()
	executable, mark := markedBrowser(t)
	web := site(t, map[string]string{"/": `<p>fine</p>`})
	s := openModule(t).session("", settings{"executable": executable}, local())
	tab := data[stateData](t, s.call("navigate", args{"url": web.URL})).Tab
	renderers := func(line string) bool { return strings.Contains(line, "--type=renderer") }
	if kill(t, processes(t, folderOf(t, mark)), renderers) == 0 {
		t.Fatal("no process of a page was found")
	}
	eventually(t, "the crash is reported", func() bool {
		_, err := s.try("read", args{"tab": tab})
		return err != nil && strings.Contains(err.Error(), "crashed")
	})
	s.refused(tool.Failed, "click", args{"text": "fine"}, "crashed", "web.browse.close")
	contains(t, s.call("tabs", args{}).Content[0].Text, tab+" crashed "+web.URL)
	s.call("close", args{"tab": tab})
	eventually(t, "the browser sees that its spare process died too", func() bool {
		_, err := s.try("navigate", args{"url": web.URL})
		return err == nil
	})
	contains(t, s.text(args{}), "fine")
}

// A closed module leaves no goroutines. Other tests do not run meanwhile.
func TestCloseLeavesNothing(t *testing.T) {
	before := goroutines()
	f := openModule(t)
	web := site(t, map[string]string{"/": `<p>hello</p><iframe src="http://localhost:1/"></iframe>`})
	var first *session
	for i := range 3 {
		s := f.session(fmt.Sprint(i), nil, local())
		s.call("navigate", args{"url": web.URL})
		if first == nil {
			first = s
		}
	}
	f.opened.OnSessionEnd(first.id)
	check(t, f.opened.Close())
	web.Close()
	eventually(t, "the goroutines of the module end", func() bool { return goroutines() <= before })
	_, err := f.tools["tabs"].Handler.Execute(t.Context(), tool.Call{Args: []byte("{}")}, tool.Grant{})
	if tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed module answered with %v", err)
	}
}

// goroutines counts those of this module and of what it starts.
func goroutines() (n int) {
	buf := make([]byte, 4<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		for _, part := range []string{
			"callgate/internal/module/browser/", "callgate/internal/netguard", "internal/module/browser.(",
		} {
			if strings.Contains(g, part) {
				n++
				break
			}
		}
	}
	return n
}
