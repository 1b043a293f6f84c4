package browser_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
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
	"callgate/tool"
)

// doomed marks a process that opens the module, starts the browser, says so,
// and waits to be killed.
const doomed = "CALLGATE_BROWSER_DOOMED"

func beDoomed() {
	opened, err := browser.Module().Open(module.Host{})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	m := browser.Module()
	s, err := m.Read(map[string]any{"timeout_seconds": 3}, map[string]any{"private_hosts": []any{"127.0.0.1"}})
	if err != nil {
		fmt.Println("failed:", err)
		return
	}
	for _, one := range opened.Tools {
		if one.ID.Name != "navigate" {
			continue
		}
		raw, _ := json.Marshal(map[string]any{"url": os.Getenv(doomed)})
		r, err := one.Handler.Execute(ctxOf(), tool.Call{Args: raw, Principal: tool.Principal{Session: "s"}}, tool.Grant{Settings: s})
		fmt.Println("ready:", r, err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// users lists the processes that work in the folders of browsers below a
// temporary folder.
func users(t testing.TB, temp string) (all []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(t, err)
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), temp+"/callgate-browser-") {
			all = append(all, filepath.Base(filepath.Dir(name))+": "+tool.Truncate(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return all
}

func browserFolders(t testing.TB, temp string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(temp, "callgate-browser-*"))
	check(t, err)
	return all
}

// short is a temporary folder of one's own with a name short enough for sockets.
func short(t testing.TB) string {
	t.Helper()
	temp, err := os.MkdirTemp("", "cg")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	return temp
}

// soon waits for something that another process does.
func soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
		runtime.Gosched()
		time.Sleep(5 * time.Millisecond)
	}
}

// The browser dies with the kernel, however that dies and whatever its pages
// do, and the next kernel removes what it left.
func TestNothingOutlivesTheKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	needBrowser(t)
	s := site(t, map[string]string{
		"/calm": `<p>calm</p><iframe src="` + "data:text/html,x" + `"></iframe>`,
		"/busy": `<p>busy</p><script>new Worker(URL.createObjectURL(new Blob(['for(;;);']))); for (;;);</script>`,
	})
	for _, path := range []string{"/calm", "/busy"} {
		t.Run(path[1:], func(t *testing.T) {
			temp := short(t)
			self, err := os.Executable()
			check(t, err)
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), doomed+"="+s.URL+path, "TMPDIR="+temp)
			in, err := cmd.StdinPipe()
			check(t, err)
			defer in.Close()
			out, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			// A page that keeps its process busy is not opened to its end.
			if err != nil || !strings.HasPrefix(line, "ready:") || path == "/calm" && !strings.Contains(line, "opened") {
				t.Fatalf("the kernel said %q, %v", line, err)
			}
			before := users(t, temp)
			if len(before) < 4 || len(browserFolders(t, temp)) != 1 {
				t.Fatalf("these processes ran: %q; the test looks at the wrong thing", before)
			}
			check(t, cmd.Process.Kill())
			_ = cmd.Wait()
			soon(t, "processes of the browser are left", func() bool { return len(users(t, temp)) == 0 })
			if len(browserFolders(t, temp)) != 1 {
				t.Fatal("who removed the folder?")
			}
			t.Setenv("TMPDIR", temp)
			g := newHouse(t).session("s", local)
			g.call("navigate", args{"url": s.URL + "/calm"})
			if left := browserFolders(t, temp); len(left) != 1 {
				t.Errorf("the next kernel has left %q", left)
			}
			check(t, g.opened.Close())
			if left := browserFolders(t, temp); len(left) != 0 {
				t.Errorf("%q is left after the close", left)
			}
			if left := users(t, temp); len(left) != 0 {
				t.Errorf("%q run after the close", left)
			}
		})
	}
}

// A browser that dies is replaced, and whoever used it is told.
func TestBrowserDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	temp := short(t)
	t.Setenv("TMPDIR", temp)
	h := newHouse(t)
	g := h.session("s", local)
	s := site(t, map[string]string{"/": `<p>hello</p>`})
	g.call("navigate", args{"url": s.URL})
	kill := exec.Command("kill", "-9", pidOfMain(t, temp))
	check(t, kill.Run())
	soon(t, "the death of the browser is not seen", func() bool {
		_, err := g.try("read", args{})
		return tool.KindOf(err) == tool.NotFound // a new browser, with no page open
	})
	r := g.call("navigate", args{"url": s.URL})
	holds(t, g.text(args{}), "hello")
	_ = r
	check(t, h.opened.Close())
	if left := browserFolders(t, temp); len(left) != 0 {
		t.Errorf("%q is left", left)
	}
}

func pidOfMain(t testing.TB, temp string) string {
	t.Helper()
	for _, line := range users(t, temp) {
		pid, rest, _ := strings.Cut(line, ": ")
		if !strings.Contains(rest, "--type=") {
			if _, err := strconv.Atoi(pid); err == nil {
				return pid
			}
		}
	}
	t.Fatal("the browser is not found")
	return ""
}

// A closed module leaves neither goroutines nor processes.
func TestCloseLeavesNothing(t *testing.T) {
	before := goroutines()
	h := newHouse(t)
	s := site(t, map[string]string{"/": `<p>hello</p><iframe src="http://localhost:1/"></iframe>`})
	for i := range 3 {
		g := h.session(fmt.Sprint(i), local)
		g.call("navigate", args{"url": s.URL})
	}
	h.opened.OnSessionEnd("1")
	check(t, h.opened.Close())
	s.Close()
	soon(t, "goroutines are left", func() bool { return goroutines() <= before })
	_, err := h.tools["tabs"].Handler.Execute(t.Context(), tool.Call{Args: []byte("{}")}, tool.Grant{})
	if tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed module answered with %v", err)
	}
}

// goroutines counts those of this module and of what it starts.
func goroutines() (n int) {
	buf := make([]byte, 4<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "callgate/internal/module/browser/") || strings.Contains(g, "callgate/internal/netguard") || strings.Contains(g, "internal/module/browser.(") {
			n++
		}
	}
	return n
}
