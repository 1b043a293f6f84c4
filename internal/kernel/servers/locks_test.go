//go:build unix

package servers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// meeting makes an app with that server, and sessions of it.
func meeting(t *testing.T, locks string) (k *kernel.Kernel, one, two *session.Session, log, folder string) {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	log, folder = filepath.Join(t.TempDir(), "log"), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(
		"tools:\n  modules:\n    filesystem:\n    mcp: {config: {servers: {hub: {command: %q, isolation: contained, env: {%s: %q}%s}}}}\n%s",
		self, meetingVariable, log, locks, auto))
	k = kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	kerneltest.AcceptServers(t, k, s)
	return k, kerneltest.OpenSession(t, k, folder), kerneltest.OpenSession(t, k, folder), log, folder
}

// together makes calls at the same time, each of one of two sessions in turn.
func together(t *testing.T, a, b *session.Session, n int, name, args string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		s := []*session.Session{a, b}[i%2]
		all.Go(func() {
			if r := kerneltest.Call(t, s, name, args); r.Status != tool.Success {
				t.Errorf("%s: %s", name, r.Summary)
			}
		})
	}
	all.Wait()
}

// claimsOf returns what the calls of a tool claimed, as the journal has it.
func claimsOf(t *testing.T, k *kernel.Kernel, name string) (list []string) {
	t.Helper()
	ok(t, k.Journal.Flush(t.Context()))
	records, err := k.Journal.Read(t.Context(), journal.Query{})
	ok(t, err)
	for _, r := range records {
		if r.Ask == nil || !strings.Contains(r.Tool, name) {
			continue
		}
		for _, c := range r.Ask.Claims {
			list = append(list, c.Resource+" "+c.Mode.String())
		}
	}
	return list
}

// The claim on a server stops nobody: eight changes that wait for each other at the
// server are under way at once. It is on record, and tells a read from a change.
func TestServerIsNoQueue(t *testing.T) {
	t.Parallel()
	k, one, two, _, folder := meeting(t, "")
	together(t, one, two, 8, "mcp_hub.meet", `{"n":8}`)
	together(t, one, two, 1, "mcp_hub.get_thing", `{}`)
	folder, err := filepath.EvalSymlinks(folder)
	ok(t, err)
	node := "server:app" + folder + "/callgate.yaml/hub"
	if got := claimsOf(t, k, "meet"); len(got) != 8 || got[0] != node+" IX" {
		t.Errorf("meet claimed %q", got)
	}
	if got := claimsOf(t, k, "get_thing"); !slices.Equal(got, []string{node + " IS"}) {
		t.Errorf("get_thing claimed %q", got)
	}
}

// A lock of the app file makes calls of one thing happen one after the other, of two
// sessions too; those of other things happen beside them.
func TestAppFileLocks(t *testing.T) {
	t.Parallel()
	k, one, two, log, _ := meeting(t, `, locks: {"touch*": ["server:thing/{thing}"], meet: "server:{n}"}`)
	together(t, one, two, 6, "mcp_hub.touch", `{"thing":"a"}`)
	data, err := os.ReadFile(log)
	ok(t, err)
	if want := strings.Repeat("begin a\nend a\n", 6); string(data) != want {
		t.Errorf("the calls overlapped:\n%s", data)
	}
	if got := claimsOf(t, k, "touch"); len(got) != 12 || !strings.HasSuffix(got[0], "/hub/thing/a X") {
		t.Errorf("touch claimed %q", got)
	}
	var all sync.WaitGroup
	for _, s := range []*session.Session{one, two} { // without its argument a lock is not held
		all.Go(func() { kerneltest.Call(t, s, "mcp_hub.touch", `{}`) })
	}
	all.Wait()
	if got := claimsOf(t, k, "touch"); len(got) != 14 {
		t.Errorf("without its argument, touch claimed %q", got[min(12, len(got)):])
	}
}

// A line that names no tool, and one with an argument that the tool does not have, are
// told with the server.
func TestLocksThatNameNothing(t *testing.T) {
	t.Parallel()
	k, one, _, _, _ := meeting(t, `, locks: {tuch: ["server"], meet: ["file:{thng}"]}`)
	told := strings.Join(kerneltest.ServersByName(t, k, one)["hub"].Problems, "\n")
	for _, want := range []string{"tuch: the app file says what it locks", "file:{thng} is not held", "did you mean {thing}?"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in:\n%s", want, told)
		}
	}
}

// realServer finds a server that npm installed for scripts/servers.sh.
func realServer(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path, err := filepath.Abs("../../../.scratch/npm/node_modules/.bin/" + name)
	ok(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here; scripts/npm.sh installs it", name)
	}
	return path
}

// Two agents change one file at the same time, the one through a real server of files
// and the other through our own tools: no change is lost, because the ready map of the
// server locks the file under the name that our tools give it.
func TestRealServerAndOwnToolsLoseNothing(t *testing.T) {
	t.Parallel()
	const each = 50
	program, folder := realServer(t, "mcp-server-filesystem"), t.TempDir()
	var text strings.Builder
	for i := range 2 * each {
		fmt.Fprintf(&text, "line %d.\n", i)
	}
	file := filepath.Join(folder, "a.txt")
	write(t, file, text.String())
	write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(
		"tools:\n  modules:\n    filesystem:\n    mcp: {config: {servers: {files: {command: %q, args: [%q], isolation: contained}}}}\n%s",
		program, folder, auto))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.AcceptServers(t, k, kerneltest.OpenAccepted(t, k, folder))
	theirs, ours := kerneltest.OpenSession(t, k, folder), kerneltest.OpenSession(t, k, folder)
	var all sync.WaitGroup
	for i := range 2 * each {
		all.Go(func() {
			s, name, path := theirs, "mcp_files.edit_file", []string{file, "a.txt"}[i/2%2]
			args := fmt.Sprintf(`{"path":%q,"edits":[{"oldText":"line %d.","newText":"done %[2]d."}]}`, path, i)
			if i%2 == 0 {
				s, name = ours, "filesystem.edit"
				args = fmt.Sprintf(`{"path":"a.txt","old":"line %d.","new":"done %[1]d."}`, i)
			}
			if r := kerneltest.Call(t, s, name, args); r.Status != tool.Success {
				t.Errorf("%s: %s", name, r.Summary)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(file)
	ok(t, err)
	if lost := strings.Count(string(data), "line "); lost > 0 || strings.Count(string(data), "done ") != 2*each {
		t.Errorf("%d edits of %d are lost", lost, 2*each)
	}
}

// The server of memories reads its file and writes it again with every change: calls of
// two agents at once lose none.
func TestRealMemoryServerLosesNothing(t *testing.T) {
	t.Parallel()
	const each = 20
	program, folder := realServer(t, "mcp-server-memory"), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(
		"tools:\n  modules:\n    mcp: {config: {servers: {notes: {command: %q, env: {MEMORY_FILE_PATH: %q}, isolation: contained}}}}\n%s",
		program, filepath.Join(folder, "memory.jsonl"), auto))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.AcceptServers(t, k, kerneltest.OpenAccepted(t, k, folder))
	one, two := kerneltest.OpenSession(t, k, folder), kerneltest.OpenSession(t, k, folder)
	var all sync.WaitGroup
	for i := range 2 * each {
		s := []*session.Session{one, two}[i%2]
		all.Go(func() {
			args := fmt.Sprintf(`{"entities":[{"name":"e%d","entityType":"t","observations":[]}]}`, i)
			if r := kerneltest.Call(t, s, "mcp_notes.create_entities", args); r.Status != tool.Success {
				t.Error(r.Summary)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(filepath.Join(folder, "memory.jsonl"))
	ok(t, err)
	if n := strings.Count(string(data), `"entity"`); n != 2*each {
		t.Errorf("%d of %d entities are there", n, 2*each)
	}
}
