package kernel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol/operations"
	"callgate/internal/registry"
	"callgate/tool"
)

const (
	appAsks = "app: {app_id: a}\ntools: {capabilities: {approve: [{module: demo}]}}\n"
	appDeny = "app: {app_id: a}\ntools: {capabilities: {approve: [{module: demo}], deny: [{module: demo, actions: [look]}]}}\n"
	appGive = "app: {app_id: a}\nruntime: {max_turns: 7}\ntools: {capabilities: {grant: [{module: demo, actions: [risky]}]}}\n"
)

// look is a tool that only reads; risky is one that asks.
func reloadKernel(t *testing.T) (*kernel.Kernel, string) {
	t.Helper()
	read := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}
	risky := tool.Runtime{Risk: tool.High, SideEffect: tool.Write}
	done := func(context.Context) (any, error) { return "done", nil }
	k := kerneltest.Open(t, kerneltest.StateDir(t),
		kerneltest.NewTool(t, "demo.look", read, done), kerneltest.NewTool(t, "demo.risky", risky, done))
	return k, folderIn(t, "reload")
}

func reloadNote(t *testing.T, k *kernel.Kernel) string {
	t.Helper()
	records, err := k.Journal.Read(t.Context(), journal.Query{Newest: true, Limit: 1})
	kerneltest.OK(t, err)
	if len(records) == 0 || records[0].Kind != journal.Noted {
		return ""
	}
	return records[0].Note
}

// An open session works by the file as it is after a reload. What is narrower counts before, and a dry run changes
// nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	k, folder := reloadKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, "app: {app_id: a}\ntools: {capabilities: {approve: [{module: demo, actions: [risky]}]}}\n")
	s := kerneltest.OpenSession(t, k, folder)
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Waiting && r.Status != tool.Success {
		t.Fatalf("before: %+v", r)
	}
	kerneltest.Write(t, file, appDeny)
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Refused {
		t.Fatalf("without a reload: %+v", r)
	}
	dry, err := kernel.Reload(t.Context(), k, operations.Reload{DryRun: true})
	kerneltest.OK(t, err)
	if dry.Applied || dry.Sessions != 1 || len(dry.Changes) == 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if rules := s.Loaded().Rules.Lines(); strings.Contains(strings.Join(rules, "\n"), "deny") {
		t.Fatalf("after a dry run: %q", rules)
	}
	got, err := kernel.Reload(t.Context(), k, operations.Reload{By: "tester"})
	kerneltest.OK(t, err)
	var text []string
	for _, c := range got.Changes {
		text = append(text, c.Part+" "+c.Text)
		if c.Wider {
			t.Errorf("%s is called wider", c.Text)
		}
	}
	if all := strings.Join(text, "\n"); !got.Applied || !strings.Contains(all, "tools demo.look: deny, was") {
		t.Errorf("reload: %+v", got)
	}
	if note := reloadNote(t, k); !strings.Contains(note, "app files read again by tester for 1 session") {
		t.Errorf("on record: %q", note)
	}
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status != tool.Refused {
		t.Errorf("after the reload: %+v", r)
	}
}

// A file with a mistake leaves everything as it is, and the error names file and line.
func TestReloadBroken(t *testing.T) {
	t.Parallel()
	k, folder := reloadKernel(t)
	other := folderIn(t, "other")
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, appAsks)
	kerneltest.Write(t, filepath.Join(other, "callgate.yaml"), appAsks)
	s, also := kerneltest.OpenSession(t, k, folder), kerneltest.OpenSession(t, k, other)
	kerneltest.Write(t, filepath.Join(other, "callgate.yaml"), appDeny) // this one is right, and what it denies counts at once
	kerneltest.Write(t, file, "app: {app_id: a}\ntolls: {}\n")
	_, err := kernel.Reload(t.Context(), k, operations.Reload{})
	if err == nil || !strings.Contains(err.Error(), "callgate.yaml:2:") {
		t.Fatalf("a broken file: %v", err)
	}
	for name, one := range map[string]*session.Session{"broken": s, "other": also} {
		if rules := one.Loaded().Rules.Lines(); strings.Contains(strings.Join(rules, "\n"), "deny") {
			t.Errorf("%s: half of the reload was applied: %q", name, rules)
		}
	}
	if r := kerneltest.Call(t, s, "demo.look", `{}`); r.Status == tool.Refused {
		t.Errorf("with a broken file: %+v", r)
	}
	if note := reloadNote(t, k); note != "" && !strings.Contains(note, "changed nothing") {
		t.Errorf("on record: %q", note)
	}
	if _, err := kernel.Reload(t.Context(), k, operations.Reload{DryRun: true, Workspace: folder}); err == nil {
		t.Error("a dry run finds no mistake")
	}
}

// What a first start needs a human's consent for, a reload needs it for too.
func TestReloadWider(t *testing.T) {
	t.Parallel()
	k, folder := reloadKernel(t)
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, appAsks)
	s := kerneltest.OpenSession(t, k, folder)
	kerneltest.Write(t, file, appGive)
	dry, err := kernel.Reload(t.Context(), k, operations.Reload{DryRun: true})
	kerneltest.OK(t, err)
	wider := false
	for _, c := range dry.Changes {
		wider = wider || c.Wider && strings.HasPrefix(c.Text, "demo.risky: allow, was approve")
	}
	if !wider || len(dry.Waits) == 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); tool.KindOf(err) != tool.Denied {
		t.Fatalf("wider without consent: %v", err)
	}
	if s.App().Runtime.MaxTurns == 7 {
		t.Error("a part of the file counts")
	}
	kerneltest.AcceptApp(t, k, kerneltest.OpenSession(t, k, folder))
	got, err := kernel.Reload(t.Context(), k, operations.Reload{})
	kerneltest.OK(t, err)
	if r := kerneltest.Call(t, s, "demo.risky", `{}`); !got.Applied || r.Status != tool.Success {
		t.Errorf("accepted: %+v, %+v", got, r)
	}
}

// Calls are made while files are read again: each is judged by one file, whole, and one that runs goes on.
func TestReloadDuringCalls(t *testing.T) { kerneltest.OnEachStorage(t, testReloadDuringCalls) }

func testReloadDuringCalls(t *testing.T) {
	t.Parallel()
	var running atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	slow := kerneltest.NewTool(t, "demo.slow", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		func(context.Context) (any, error) {
			if running.Add(1) == 1 {
				close(begun)
				<-release
			}
			return "done", nil
		})
	k := kerneltest.Open(t, kerneltest.StateDir(t), slow)
	folder := folderIn(t, "busy")
	file := filepath.Join(folder, "callgate.yaml")
	give := "app: {app_id: b}\n"
	deny := "app: {app_id: b}\ntools: {capabilities: {default_policy: auto, deny: [{module: demo, actions: [slow]}]}}\n"
	kerneltest.Write(t, file, give)
	s := kerneltest.OpenSession(t, k, folder)
	first := make(chan *tool.Result)
	go func() { first <- kerneltest.Call(t, s, "demo.slow", `{}`) }()
	<-begun
	kerneltest.Write(t, file, deny)
	kerneltest.AcceptApp(t, k, kerneltest.OpenSession(t, k, folder))
	_, err := kernel.Reload(t.Context(), k, operations.Reload{})
	kerneltest.OK(t, err)
	if r := kerneltest.Call(t, s, "demo.slow", `{}`); r.Status != tool.Refused {
		t.Errorf("the next call: %+v", r)
	}
	close(release)
	if r := <-first; r.Status != tool.Success {
		t.Errorf("the call that ran: %+v", r)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if r := kerneltest.Call(t, s, "demo.slow", `{}`); r.Status != tool.Success && r.Status != tool.Refused {
					t.Errorf("during reloads: %+v", r)
				}
			}
		})
	}
	for i := range 10 {
		kerneltest.Write(t, file, []string{give, deny}[i%2])
		if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

// A reload whose check fails in one folder leaves the servers of all others as they were: no session sees a new server
// under its old rules.
func TestReloadRegistersAllOrNone(t *testing.T) {
	t.Parallel()
	k, a := reloadKernel(t)
	b := folderIn(t, "b")
	fileA, fileB := filepath.Join(a, "callgate.yaml"), filepath.Join(b, "callgate.yaml")
	kerneltest.WriteExecutable(t, filepath.Join(b, "tools", "global"), "greet", kerneltest.GreetManifest, `echo '{}'`)
	withX := "app: {app_id: a}\ntools: {modules: {mcp: {config: {servers: {x: {url: 'http://127.0.0.1:1/', transport: sse}}}}}, " +
		"capabilities: {deny: [{module: mcp_x, actions: [delete]}]}}\n"
	kerneltest.Write(t, fileA, withX)
	kerneltest.OpenAccepted(t, k, a).Close()
	kerneltest.Write(t, fileA, "app: {app_id: a}\n")
	kerneltest.Write(t, fileB, "app: {app_id: b}\n")
	s := kerneltest.OpenSession(t, k, a)
	kerneltest.OpenSession(t, k, b)
	scope := registry.Scope(s.App().Path, s.Loaded().Workspace)
	if k.Servers.In(scope).Any() {
		t.Fatal("the server is there before the reload")
	}
	kerneltest.Write(t, fileA, withX)
	for name, text := range map[string]string{
		"a folder that nobody accepted": "app: {app_id: b}\ntools: {dirs: [tools]}\n",
		"a folder that is not there":    "app: {app_id: b}\ntools: {dirs: [nothing]}\n",
	} {
		kerneltest.Write(t, fileB, text)
		if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); err == nil {
			t.Errorf("%s: the reload was made", name)
		}
		if k.Servers.In(scope).Any() {
			t.Errorf("%s: the other folder has its new server", name)
		}
	}
	kerneltest.Write(t, fileB, "app: {app_id: b}\n")
	if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); err != nil || !k.Servers.In(scope).Any() {
		t.Errorf("without a mistake: %v", err)
	}
}

// Where no session is open, the files that sessions had are checked: a mistake is told, and what is right is named.
func TestReloadWithoutSessions(t *testing.T) {
	t.Parallel()
	k, folder := reloadKernel(t)
	if got, err := kernel.Reload(t.Context(), k, operations.Reload{}); err != nil || len(got.Files) > 0 {
		t.Errorf("where nothing is known: %+v, %v", got, err)
	}
	file := filepath.Join(folder, "callgate.yaml")
	kerneltest.Write(t, file, appAsks)
	kerneltest.OpenSession(t, k, folder).Close()
	kerneltest.Write(t, file, "app: {app_id: a}\ntolls: {}\n")
	if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); err == nil || !strings.Contains(err.Error(), "callgate.yaml:2:") {
		t.Errorf("a broken file: %v", err)
	}
	kerneltest.Write(t, file, appDeny)
	got, err := kernel.Reload(t.Context(), k, operations.Reload{})
	if err != nil || got.Sessions != 0 || len(got.Files) != 1 || !strings.HasSuffix(got.Files[0], "callgate.yaml") {
		t.Errorf("a right file: %+v, %v", got, err)
	}
}

// A folder of tools vanishes after all files were checked, while the first of them is in use already: all is as it was,
// in both places.
func TestReloadFailsLate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("executables are confined on Linux only")
	}
	k, first := reloadKernel(t)
	second := folderIn(t, "second")
	tools := filepath.Join(second, "tools")
	var vanishes atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if vanishes.Load() { // the document of the first place is asked for when it is used
			kerneltest.OK(t, os.Rename(tools, tools+".gone"))
		}
		_, _ = w.Write([]byte("openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {/x: {get: {operationId: look, responses: {}}}}\n"))
	}))
	t.Cleanup(server.Close)
	fileA, fileB := filepath.Join(first, "callgate.yaml"), filepath.Join(second, "callgate.yaml")
	const plain = "app: {app_id: a}\n"
	withAPI := plain + "tools: {modules: {openapi: {config: {apis: {late: {document: '" + server.URL + "/doc', private_hosts: [127.0.0.1]}}}}}}\n"
	const before = "app: {app_id: b}\nruntime: {sandbox: relaxed}\ntools:\n  dirs: [tools]\n"
	const after = before + "  capabilities: {deny: [{module: demo, actions: [look]}]}\n"
	kerneltest.WriteExecutable(t, filepath.Join(tools, "global"), "greet", kerneltest.GreetManifest, "echo '{}'\n")
	kerneltest.Write(t, fileA, withAPI)
	asks := kerneltest.OpenSession(t, k, first)
	kerneltest.AcceptApp(t, k, asks) // and nothing is fetched before the reload
	asks.Close()
	kerneltest.Write(t, fileA, plain)
	a := kerneltest.OpenSession(t, k, first)
	kerneltest.Write(t, fileB, after)
	kerneltest.OpenAccepted(t, k, second).Close()
	kerneltest.Write(t, fileB, before)
	b := kerneltest.OpenAccepted(t, k, second)
	for a.ID() > b.ID() { // places are loaded in the order of their sessions
		a = kerneltest.OpenSession(t, k, first)
	}
	state := func() string {
		return kerneltest.ToolNames(t, a) + "\n" + kerneltest.ToolNames(t, b)
	}
	was := state()
	if !strings.Contains(was, "team.greet") || strings.Contains(was, "late.look") || !strings.Contains(was, "demo.look") {
		t.Fatalf("before: %s", was)
	}
	kerneltest.Write(t, fileA, withAPI)
	kerneltest.Write(t, fileB, after)
	vanishes.Store(true)
	if _, err := kernel.Reload(t.Context(), k, operations.Reload{}); err == nil || !strings.Contains(err.Error(), "which is not a folder") {
		t.Fatalf("the reload: %v", err)
	}
	if now := state(); now != was {
		t.Errorf("after a reload that failed:\n%s\nand before:\n%s", now, was)
	}
	scope := registry.Scope(a.App().Path, a.Loaded().Workspace)
	if k.Servers.In(scope).Any() {
		t.Error("the first place has its API")
	}
	vanishes.Store(false)
	kerneltest.OK(t, os.Rename(tools+".gone", tools))
	_, err := kernel.Reload(t.Context(), k, operations.Reload{})
	kerneltest.OK(t, err)
	if now := state(); !strings.Contains(now, "late.look") || strings.Count(now, "demo.look") != 1 {
		t.Errorf("after one that did not: %s", now)
	}
}
