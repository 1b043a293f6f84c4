package recovery_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// cutVariable asks the test program to be a kernel whose call of a real server is
// under way; it says where.
const cutVariable = "CALLGATE_TEST_CUT"

type cutPart struct{ State, Workspace, User, Text string }

const serverProgram = "mcp-server-filesystem"

// realServer finds the server that npm installed for scripts/servers.sh.
func realServer(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the processes of a server are found in /proc")
	}
	if path, err := exec.LookPath(serverProgram); err == nil {
		return path
	}
	path, err := filepath.Abs("../../../.scratch/npm/node_modules/.bin/" + serverProgram)
	ok(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here; scripts/npm.sh installs it", serverProgram)
	}
	return path
}

// serversIn returns the processes of that server which were given a folder.
func serversIn(folder string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if strings.Contains(string(line), serverProgram) && words[len(words)-1] == folder {
			pids = append(pids, pid)
		}
	}
	return pids
}

// cut is a kernel whose call of write_file is under way for as long as it lives: the
// server is stopped before. It prints a line when the call is on record.
func cut(value string) {
	var part cutPart
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(json.Unmarshal([]byte(value), &part))
	ctx := context.Background()
	k, err := kernel.Open(ctx, kernel.Config{State: part.State, UserFile: part.User})
	check(err)
	s, err := k.OpenSession(ctx, session.Spec{Workspace: part.Workspace})
	check(err)
	call := func(name, args string) *tool.Result {
		return s.Call(ctx, session.CallRequest{Name: name, Args: json.RawMessage(args)})
	}
	check(call("mcp_files.list_allowed_directories", `{}`).Err()) // now it runs
	for _, pid := range serversIn(part.Workspace) {
		check(exec.Command("kill", "-STOP", strconv.Itoa(pid)).Run())
	}
	go call("mcp_files.write_file", fmt.Sprintf(`{"path":%q,"content":%q}`, filepath.Join(part.Workspace, "x"), part.Text))
	for r, err := range k.Journal.Follow(ctx, 0) {
		check(err)
		if r.Kind == journal.Begun && !k.Journal.IsEarlier(r.Seq) && strings.Contains(r.Tool, "write_file") {
			fmt.Println("begun")
		}
	}
}

// realApp makes a workspace whose app has the real server, accepted, and a file x.
func realApp(t testing.TB, state, user, locks string) (workspace string) {
	t.Helper()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(workspace, "x"), "BEFORE")
	write(t, filepath.Join(workspace, "callgate.yaml"), fmt.Sprintf("tools:\n  modules:\n    filesystem:\n    shell:\n"+
		"    mcp: {config: {servers: {files: {command: %q, args: [%q], isolation: contained%s}}}}\n"+
		"  capabilities: {default_policy: auto}\n", realServer(t), workspace, locks))
	k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user})
	kerneltest.AcceptServers(t, k, kerneltest.OpenAccepted(t, k, workspace))
	ok(t, k.Close())
	return workspace
}

// killUnderWrite runs a kernel in a process of its own and kills it while write_file
// is under way. It returns when nothing of it is left.
func killUnderWrite(t testing.TB, part cutPart) {
	t.Helper()
	value, err := json.Marshal(part)
	ok(t, err)
	exe, err := os.Executable()
	ok(t, err)
	child := exec.Command(exe)
	child.Env = append(os.Environ(), cutVariable+"="+string(value), "CALLGATE_KEYRING=off")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	t.Cleanup(func() { // a server that outlived its kernel
		for _, pid := range serversIn(part.Workspace) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	})
	begun := bufio.NewScanner(out).Scan()
	_ = child.Process.Kill()
	_ = child.Wait()
	if !begun {
		t.Fatal("the call did not begin")
	}
	kerneltest.Eventually(t, func() bool { return len(serversIn(part.Workspace)) == 0 })
}

// decided waits until nothing is undecided.
func decided(t testing.TB, k *kernel.Kernel) {
	t.Helper()
	kerneltest.Eventually(t, func() bool {
		undecided, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{State: doubt.New})
		return err == nil && len(undecided) == 0
	})
}

// RELIABILITY 1, as it was seen: write_file of the real server of files is under way
// when the kernel is killed. Whoever writes then, the old text never comes over the
// new one; and where nobody does, it is written once.
func TestRealServerNeverPutsOldOverNew(t *testing.T) {
	t.Parallel()
	realServer(t)
	called := func(lane, name, args string) func(testing.TB, *kernel.Kernel, string) {
		return func(t testing.TB, k *kernel.Kernel, workspace string) {
			t.Helper()
			s, err := k.OpenSession(t.Context(), session.Spec{Workspace: workspace, Lane: lane})
			ok(t, err)
			defer s.Close()
			if r := kerneltest.Call(t, s, name, strings.ReplaceAll(args, "WORKSPACE", workspace)); r.Status != tool.Success {
				t.Fatalf("%+v", r)
			}
		}
	}
	writers := map[string]func(testing.TB, *kernel.Kernel, string){
		"a person":                     func(t testing.TB, _ *kernel.Kernel, workspace string) { write(t, filepath.Join(workspace, "x"), "NEW") },
		"our tool":                     called("", "filesystem.write", `{"path":"x","content":"NEW"}`),
		"the same server":              called("", "mcp_files.write_file", `{"path":"WORKSPACE/x","content":"NEW"}`),
		"the shell of another session": called("other", "shell.bash", `{"command":"printf NEW > x"}`),
		"nobody":                       nil,
	}
	for name, locks := range map[string]string{
		"ready map": "", "app file": `, locks: {write_file: "file:{path}"}`, "locks off": ", locks: off",
	} {
		for who, writes := range writers {
			for _, stays := range []bool{true, false} {
				if who == "nobody" && !stays || who == "a person" && stays {
					continue // who comes before the kernel that stays, and who after its start
				}
				t.Run(fmt.Sprintf("%s/%s/stays=%v", name, who, stays), func(t *testing.T) {
					t.Parallel()
					oldOverNew(t, locks, writes, stays)
				})
			}
		}
	}
}

// oldOverNew kills a kernel under write_file, lets somebody write NEW, with the next
// kernel that stays or before it, and looks what becomes of it.
func oldOverNew(t *testing.T, locks string, writes func(testing.TB, *kernel.Kernel, string), stays bool) {
	state, user := kerneltest.StateDir(t), filepath.Join(t.TempDir(), "none.yaml")
	workspace := realApp(t, state, user, locks)
	killUnderWrite(t, cutPart{state, workspace, user, "OLD"})
	file, want := filepath.Join(workspace, "x"), "NEW"
	if got := read(t, file); got != "BEFORE" {
		t.Fatalf("the server was stopped, and the file holds %q", got)
	}
	if writes != nil && !stays {
		k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user, ShortLived: true})
		writes(t, k, workspace)
		ok(t, k.Close())
	}
	k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user})
	if writes != nil && stays {
		writes(t, k, workspace)
	}
	begun, open := 2, 0 // it is made again: before who writes in this kernel, which stays
	if writes != nil && !stays || strings.Contains(locks, "off") {
		begun, open = 1, 1
	}
	if writes == nil {
		if want = "OLD"; open > 0 {
			want = "BEFORE"
		}
	}
	decided(t, k)
	if got := read(t, file); got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	ok(t, k.Close()) // and everything that it had begun has ended
	k = kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user})
	decided(t, k)
	if got := read(t, file); got != want {
		t.Errorf("after one more start the file holds %q, want %q", got, want)
	}
	doubts, err := k.Journal.Doubts(t.Context())
	if err != nil || len(doubts) != open {
		t.Errorf("in doubt: %v, %v", doubts, err)
	}
	n := 0
	for _, r := range records(t, k, journal.Begun) {
		if strings.Contains(r.Call, doubtedCall(t, k)) {
			n++
		}
	}
	if n != begun {
		t.Errorf("it began %d times, want %d", n, begun)
	}
}

// doubtedCall is the one call that was ever in doubt.
func doubtedCall(t testing.TB, k *kernel.Kernel) string {
	t.Helper()
	all := records(t, k, journal.Doubted)
	if len(all) != 1 {
		t.Fatalf("%d calls were in doubt", len(all))
	}
	return all[0].Call
}
