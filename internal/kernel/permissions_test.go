package kernel_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// askingApp is an app whose files and commands need a human, but for one folder that
// nobody may write.
const askingApp = `
app: {app_id: asking}
tools:
  modules:
    filesystem:
    shell:
  capabilities:
    approve: [{module: filesystem}, {module: shell}]
    deny: [{module: filesystem, actions: [write, edit], match: {path: "locked/**"}}]
`

// openAsking opens a session in a folder whose rules ask about every change.
func openAsking(t *testing.T, k *kernel.Kernel) (*session.Session, string) {
	t.Helper()
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), askingApp)
	kerneltest.Write(t, filepath.Join(dir, "locked", "a.txt"), "a")
	return kerneltest.OpenAccepted(t, k, dir), dir
}

// permit changes the permissions of a session as a human outside of the kernel.
func permit(t *testing.T, k *kernel.Kernel, s *session.Session, c permissions.Change) {
	t.Helper()
	_, err := k.Permissions.Set(t.Context(), kerneltest.Human(t, k), s, s.Caller().Requester(), c)
	kerneltest.OK(t, err)
}

// Accept-edits allows changes of files inside the workspace, and nothing else.
func TestAcceptEditsAllowsChangesOfFilesInTheWorkspace(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s, dir := openAsking(t, k)
	write := [2]string{"filesystem.write", `{"path":"src/a.go","content":"package a\n"}`}
	want(t, s, tool.Waiting, write)
	permit(t, k, s, permissions.Change{Mode: "accept-edits"})
	want(t, s, tool.Success, write,
		[2]string{"filesystem.edit", `{"path":"src/a.go","old":"package a","new":"package b"}`},
		[2]string{"filesystem.move", `{"from":"src/a.go","to":"src/b.go"}`})
	want(t, s, tool.Waiting,
		[2]string{"filesystem.write", `{"path":"callgate.yaml","content":"app: {id: x}"}`},
		[2]string{"filesystem.write", `{"path":".git/hooks/pre-commit","content":"x"}`},
		[2]string{"filesystem.move", `{"from":"src/b.go","to":"sub/callgate.yaml"}`},
		[2]string{"filesystem.delete", `{"path":"src"}`},
		[2]string{"filesystem.delete", `{"path":"src/b.go"}`},
		[2]string{"shell.bash", `{"command":"touch x","description":"x"}`},
		[2]string{"shell.bash", `{"command":"touch x","description":"x","writes":["x"]}`})
	want(t, s, tool.Refused, [2]string{"filesystem.write", `{"path":"locked/a.txt","content":"b"}`})
	// Each is on record with why, and with who set it.
	r := kerneltest.Call(t, s, "filesystem.write", `{"path":"src/c.go","content":"package c\n"}`)
	if reason := askReason(t, k, r.Call); !strings.Contains(reason, "permission mode accept-edits, set by ada") {
		t.Errorf("the journal says %q", reason)
	}
	if other := kerneltest.OpenSession(t, k, dir); kerneltest.Call(t, other, write[0], write[1]).Status != tool.Waiting {
		t.Error("another session has the mode too")
	}
}

// askReason is why a call was let through, or asked about.
func askReason(t *testing.T, k *kernel.Kernel, call string) string {
	t.Helper()
	kerneltest.OK(t, k.Journal.Flush(t.Context()))
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: call})
	kerneltest.OK(t, err)
	if len(records) == 0 || records[0].Ask == nil {
		t.Fatalf("call %s is on record as %+v", call, records)
	}
	return records[0].Ask.Reason
}

// Plan refuses what changes anything, also what the rules allow, and says what to do.
func TestPlanRefusesWhatChangesAnything(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	dir := folderIn(t, "here")
	kerneltest.Write(t, filepath.Join(dir, "callgate.yaml"), strings.Replace(askingApp, "approve:", "grant:", 1))
	kerneltest.Write(t, filepath.Join(dir, "src", "a.go"), "package a\n")
	s := kerneltest.OpenAccepted(t, k, dir)
	write := [2]string{"filesystem.write", `{"path":"src/b.go","content":"package b\n"}`}
	want(t, s, tool.Success, write)
	permit(t, k, s, permissions.Change{Mode: "plan", Allow: []string{"shell: ls *"}})
	want(t, s, tool.Refused, write, [2]string{"shell.bash", `{"command":"ls","description":"x"}`})
	want(t, s, tool.Success, [2]string{"filesystem.read", `{"path":"src/a.go"}`}, [2]string{"filesystem.glob", `{"pattern":"**"}`})
	r := kerneltest.Call(t, s, write[0], write[1])
	if !strings.Contains(r.Summary, "plan mode") || !strings.Contains(r.Error.Hint, "plan") {
		t.Errorf("a model is told %q, %q", r.Summary, r.Error.Hint)
	}
	permit(t, k, s, permissions.Change{Mode: "ask"})
	want(t, s, tool.Success, write)
}

// What is allowed for a session covers the calls that fit, whole.
func TestAllowListOfASession(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s, _ := openAsking(t, k)
	permit(t, k, s, permissions.Change{Allow: []string{"demo.run: go test *", "demo.run: git log *", "Write: src/**"}})
	run := func(command string) [2]string { return [2]string{"demo.run", `{"command":` + quote(command) + `}`} }
	write := func(path string) [2]string {
		return [2]string{"filesystem.write", `{"path":"` + path + `","content":"x"}`}
	}
	want(t, s, tool.Success, run("go test ./..."), run("go test ./a && git log -3"), run("git log | go test -run x ./..."),
		run("eval go test ./..."), write("src/a/b.go"))
	want(t, s, tool.Waiting, run("go vet ./..."), run("go test ./...; rm -rf x"), run("go test ./... && curl x"),
		run("go test $(rm -rf x)"), run("go test `rm x`"), run("go test ./... > out"), run("X=1 go test ./..."),
		run("go test ./... | sh"), run("go test ./... & rm x"), run("go test <(rm x)"), run("$x test"),
		run("go test ./...\nrm x"), run("go  testx"), run("sudo go test ./..."),
		write("a.go"), write("src/../a.go"), write("src/../callgate.yaml"), write("src/callgate.yaml"), write("src/.git/config"))
	r := kerneltest.Call(t, s, "demo.run", `{"command":"go test ./..."}`)
	if reason := askReason(t, k, r.Call); reason != "allowed for this session: demo.run: command: go test * (ada)" {
		t.Errorf("the journal says %q", reason)
	}
	for _, text := range []string{
		"*", "*: *", "", ": go test", "demo.run", "demo.run: *", "demo.run: * test", "demo.run: go test; rm *",
		"demo.run: go test && rm *", "demo.run: $(x) *", "demo.run: `x`", "demo.nothing: x", "demo.write: {", "demo.run: {}", `demo.run: {"n": 1}`, `shell: {"writes": "x"}`, "shell: *", "demo.run: go test | sh",
	} {
		_, err := k.Permissions.Set(t.Context(), kerneltest.Human(t, k), s, s.Caller().Requester(), permissions.Change{Allow: []string{text}})
		if kind := tool.KindOf(err); kind != tool.Invalid && kind != tool.NotFound {
			t.Errorf("--allow %q: %v", text, err)
		}
	}
	// A tool that asks first does so whatever is allowed.
	permit(t, k, s, permissions.Change{Allow: []string{"demo.first: n: *"}})
	want(t, s, tool.Waiting, [2]string{"demo.first", `{"n":1}`})
}

func quote(s string) string { return `"` + strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(s) + `"` }

// Nobody but who could say yes may loosen a session: not a caller without the key, not
// the process that asked, not a tool. Tightening is for its owner.
func TestWhoMayLoosenASession(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, folderIn(t, "here"))
	human := kerneltest.Human(t, k)
	set := func(who approval.Credential, c permissions.Change) error {
		_, err := k.Permissions.Set(t.Context(), who, s, s.Caller().Requester(), c)
		return err
	}
	nobody, inside := approval.Credential{PID: approval.Unknown}, human
	inside.PID = 0
	for name, who := range map[string]approval.Credential{"without the key": nobody, "inside the kernel": inside} {
		for _, c := range []permissions.Change{{Mode: "accept-edits"}, {Allow: []string{"demo.run: go test *"}}} {
			if err := set(who, c); tool.KindOf(err) != tool.Denied {
				t.Errorf("%s, %+v: %v", name, c, err)
			}
		}
	}
	// Its owner may plan, and leave it; not when a human wanted the plan.
	kerneltest.OK(t, set(nobody, permissions.Change{Mode: "plan"}))
	kerneltest.OK(t, set(nobody, permissions.Change{Mode: "ask"}))
	kerneltest.OK(t, set(human, permissions.Change{Mode: "plan"}))
	if err := set(nobody, permissions.Change{Mode: "ask"}); tool.KindOf(err) != tool.Denied {
		t.Errorf("who has no authority left a human's plan mode: %v", err)
	}
	kerneltest.OK(t, set(human, permissions.Change{Mode: "ask"}))
	kerneltest.OK(t, set(nobody, permissions.Change{Mode: "plan"}))
	kerneltest.OK(t, set(human, permissions.Change{Mode: "plan"}))
	if err := set(nobody, permissions.Change{Mode: "ask"}); tool.KindOf(err) != tool.Denied {
		t.Errorf("who has no authority left a plan mode that a human wanted too: %v", err)
	}
	kerneltest.OK(t, set(human, permissions.Change{Mode: "accept-edits"}))
	kerneltest.OK(t, set(nobody, permissions.Change{Mode: "plan"}))
	if mode := k.Permissions.Of(s.ID()).Mode; mode != permission.Plan {
		t.Errorf("the mode is %s", mode)
	}
	if err := set(human, permissions.Change{Mode: "yolo"}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a mode that there is not: %v", err)
	}
	id := s.ID()
	s.Close()
	if state := k.Permissions.Of(id); state.Mode != permission.Ask || len(state.Allow) > 0 {
		t.Errorf("after its session: %+v", state)
	}
}

// A yes for the session covers what was shown, and those that wait already.
func TestYesForTheSessionCoversWhatWasShown(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, folderIn(t, "here"))
	done := map[string]chan *tool.Result{}
	for _, command := range []string{"go test ./a", "go test ./b", "go build ./a"} {
		got := make(chan *tool.Result, 1)
		done[command] = got
		go func() {
			got <- s.Call(t.Context(), session.CallRequest{Name: "demo.run", Args: []byte(`{"command":"` + command + `"}`)})
		}()
	}
	pending := func() map[string]approval.Request {
		list, err := k.Approvals.List(t.Context(), approval.Pending, 0)
		kerneltest.OK(t, err)
		found := map[string]approval.Request{}
		for _, r := range list {
			found[string(r.Call.Args)] = r
		}
		return found
	}
	kerneltest.Eventually(t, func() bool { return len(pending()) == 3 })
	first := pending()[`{"command":"go test ./a"}`]
	if first.Session == nil || first.Session.Text != "`go test *`" {
		t.Fatalf("a yes for the session is shown as %+v", first.Session)
	}
	kerneltest.Settle(t, k, first.ID, approval.Answer{Approve: true, Always: true})
	kerneltest.Eventually(t, func() bool { return len(pending()) == 1 }) // the second is not asked about again
	for _, command := range []string{"go test ./a", "go test ./b"} {
		if r := <-done[command]; r.Status != tool.Success {
			t.Errorf("%s: %s %q", command, r.Status, r.Summary)
		}
	}
	left := pending()
	if len(left) != 1 {
		t.Fatalf("%d requests are left", len(left))
	}
	want(t, s, tool.Success, [2]string{"demo.run", `{"command":"go test -race ./..."}`})
	want(t, s, tool.Waiting, [2]string{"demo.run", `{"command":"rm -rf x"}`}, [2]string{"demo.run", `{"command":"go test x; rm y"}`})
	// Plan answers what waits and would change something.
	permit(t, k, s, permissions.Change{Mode: "plan"})
	if r := <-done["go build ./a"]; r.Status != tool.Refused || !strings.Contains(r.Error.Hint, "plan") {
		t.Errorf("%s %q", r.Status, r.Summary)
	}
}

// Questions about the calls of one answer come in the model's order, and their asker
// learns of each answer.
func TestQuestionsComeInTheModelsOrder(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), riskyTools(t)...)
	var mu sync.Mutex
	var asked, answered []string
	s, err := k.OpenSession(t.Context(), session.Spec{Workspace: folderIn(t, "here"), OnAsked: func(r approval.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.State == approval.Pending {
			asked = append(asked, string(r.Call.Args))
		} else {
			answered = append(answered, string(r.Call.Args))
		}
	}})
	kerneltest.OK(t, err)
	var requests []session.CallRequest
	var want []string
	for i := range 12 {
		args := `{"command":"make t` + string(rune('a'+i)) + `"}`
		want = append(want, args)
		requests = append(requests, session.CallRequest{Name: "demo.run", Args: []byte(args)})
	}
	done := make(chan []*tool.Result, 1)
	go func() { done <- s.CallAll(t.Context(), requests, nil) }()
	kerneltest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(asked) == len(want) })
	if !slices.Equal(asked, want) {
		t.Errorf("asked in the order %q", asked)
	}
	list, err := k.Approvals.List(t.Context(), approval.Pending, 0)
	kerneltest.OK(t, err)
	for i, r := range list {
		if string(r.Call.Args) != want[i] {
			t.Errorf("the list has %s at %d", r.Call.Args, i)
		}
	}
	permit(t, k, s, permissions.Change{Mode: "plan"})
	for i, r := range <-done {
		if r.Status != tool.Refused {
			t.Errorf("%d: %s %q", i, r.Status, r.Summary)
		}
	}
	if len(answered) != len(want) {
		t.Errorf("told of %d answers", len(answered))
	}
}
