package deferred_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/agent/surface"
	"callgate/internal/conversation"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// The rules are those in force when a call is made: whatever they were when it was
// asked for.
func TestRulesAreThoseOfNow(t *testing.T) {
	t.Parallel()
	const ask, deny = "tools:\n  capabilities: {approve: [{module: demo}]}\n", "tools:\n  capabilities: {deny: [{module: demo}]}\n"
	for _, test := range []struct{ name, then, now, want string }{
		{"allowed, denied by now", free, deny, "refused"},
		{"allowed, to be approved by now", free, ask, "waits"},
		{"to be approved, allowed by now", ask, free, "runs"},
		{"the app file is broken", free, "nonsense: [", "fails"},
		{"hidden by now", free, "tools:\n  capabilities: {hidden_modules: [demo]}\n", "hidden"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, folder := &counted{}, inFolder(t, test.then)
			k := kerneltest.Open(t, kerneltest.StateDir(t), c.tool(t))
			asker := leave(t, k, session.Spec{Workspace: folder})
			write(t, filepath.Join(folder, "callgate.yaml"), test.now)
			if test.want != "fails" {
				accept(t, k, folder)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan *tool.Result, 1)
			go func() { done <- k.Deferred.Call(ctx, asker, gate.CallRequest{ID: "d1", Name: "demo.run"}) }()
			switch test.want {
			case "refused":
				expect(t, <-done, tool.Refused, tool.Denied)
			case "runs":
				expect(t, <-done, tool.Success, "")
			case "fails":
				expect(t, <-done, tool.Failure, tool.Invalid)
			case "hidden":
				expect(t, <-done, tool.Failure, tool.NotFound)
			default:
				asked(t, k)
				cancel()
				if r := <-done; r.Status != tool.Waiting {
					t.Errorf("%+v", r)
				}
			}
			if ran := c.runs.Load() > 0; ran != (test.want == "runs") {
				t.Errorf("it ran %d times", c.runs.Load())
			}
		})
	}
}

// A deferred call that needs a human waits for one: its asker is gone, and no kernel
// says yes in a human's place.
func TestDeferredCallWaitsForAHuman(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"yes": true, "no": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kerneltest.Open(t, kerneltest.StateDir(t))
			folder := inFolder(t, "app: {app_id: a}\n")
			write(t, filepath.Join(folder, "x"), "")
			asker := leave(t, k, session.Spec{Workspace: folder})
			done := make(chan *tool.Result, 1)
			go func() {
				done <- k.Deferred.Call(t.Context(), asker,
					gate.CallRequest{ID: "d1", Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`)})
			}()
			request := asked(t, k)
			if request.Call.ID != "d1" || request.Call.Principal.Session != asker.Principal.Session {
				t.Errorf("asked about %+v", request.Call)
			}
			select {
			case r := <-done:
				t.Fatalf("it did not wait: %+v", r)
			default:
			}
			kerneltest.Settle(t, k, request.ID, approval.Answer{Approve: yes})
			want, kind := tool.Refused, tool.Denied
			if yes {
				want, kind = tool.Success, ""
			}
			expect(t, <-done, want, kind)
			if _, err := os.Stat(filepath.Join(folder, "x")); (err != nil) != yes {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// What a human accepted of an app and took back gives its deferred calls nothing.
func TestRevokedApp(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := inFolder(t, "tools:\n  dirs: [kit]\n  capabilities: {grant: [{module: team}]}\n")
	kerneltest.WriteExecutable(t, filepath.Join(folder, "kit", "global"), "greet", kerneltest.GreetManifest,
		`echo '{"said":"hello"}'`)
	asker := leave(t, k, session.Spec{Workspace: folder})
	expect(t, call(t, k, asker, "d1", "team.greet", `{"name":"ada"}`), tool.Success, "")
	s := kerneltest.OpenSession(t, k, folder)
	ok(t, k.RevokeApp(kerneltest.Human(t, k), s, "ada"))
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // it may wait for a human, who says nothing
	defer cancel()
	r := k.Deferred.Call(ctx, asker, gate.CallRequest{ID: "d2", Name: "team.greet", Args: json.RawMessage(`{"name":"ada"}`)})
	if r.Status == tool.Success {
		t.Errorf("%+v", r)
	}
}

const limitedApp = `
agents:
  - {id: lead, system_prompt: Lead.}
  - {id: reader, system_prompt: Read., modules: [{filesystem: [read, list]}]}
  - {id: mute, system_prompt: Think., modules: []}
tools:
  capabilities: {default_policy: auto}
profiles:
  files: {modules: [filesystem]}
`

// Who was limited stays so: by a profile, by an agent's modules, or by what its MCP
// client was given.
func TestLimitedAskerStaysLimited(t *testing.T) {
	t.Parallel()
	c, folder := &counted{}, inFolder(t, limitedApp)
	write(t, filepath.Join(folder, "a.txt"), "text")
	k := kerneltest.Open(t, kerneltest.StateDir(t), c.tool(t))
	accept(t, k, folder)
	agent := func(name string) task.Asker {
		conv, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder, Agent: name})
		ok(t, err)
		defer conv.Close()
		return kept(t, deferred.AskerOf(conv.Session(), tool.Call{}))
	}
	client := func(choice string) task.Asker {
		return leave(t, k, session.Spec{
			Workspace: folder, Client: &surface.Client{Name: "x", Builtin: surface.Builtin{Choice: choice}},
		})
	}
	for name, test := range map[string]struct {
		asker          task.Asker
		read, write, x bool // filesystem.read, filesystem.write and demo.run
	}{
		"all":         {leave(t, k, session.Spec{Workspace: folder}), true, true, true},
		"an agent":    {agent("lead"), true, true, true},
		"a profile":   {leave(t, k, session.Spec{Workspace: folder, Profile: "files"}), true, true, false},
		"a reader":    {agent("reader"), true, false, false},
		"no modules":  {agent("mute"), false, false, false},
		"no built-in": {client(surface.BuiltinNone), false, false, true},
	} {
		for tried, want := range map[string]bool{
			`filesystem.read {"path":"a.txt"}`: test.read, `filesystem.write {"path":"` + name + `","content":"x"}`: test.write,
			`demo.run {}`: test.x,
		} {
			tool, args, _ := strings.Cut(tried, " ")
			r := call(t, k, test.asker, strings.ReplaceAll(name+tool, " ", ""), tool, args)
			if got := r.Status == "success"; got != want {
				t.Errorf("%s: %s: %s %q", name, tool, r.Status, r.Summary)
			}
		}
	}
	reader, profiled := agent("reader"), leave(t, k, session.Spec{Workspace: folder, Profile: "files"})
	write(t, filepath.Join(folder, "callgate.yaml"), strings.ReplaceAll(limitedApp, "[read, list]", "[list, write]"))
	accept(t, k, folder)
	expect(t, call(t, k, reader, "r1", "filesystem.read", `{"path":"a.txt"}`), tool.Failure, tool.NotFound)
	expect(t, call(t, k, reader, "r2", "filesystem.write", `{"path":"b","content":""}`), tool.Failure, tool.NotFound)
	expect(t, call(t, k, reader, "r3", "filesystem.list", `{}`), tool.Success, "")
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: lead, system_prompt: Lead.}]\n"+free)
	accept(t, k, folder)
	expect(t, call(t, k, reader, "r4", "filesystem.list", `{}`), tool.Failure, tool.NotFound)
	expect(t, call(t, k, profiled, "p1", "filesystem.list", `{}`), tool.Failure, tool.NotFound)
}

// A call happens in the folder that it was asked for in, or nowhere.
func TestFolderThatIsGone(t *testing.T) {
	t.Parallel()
	elsewhere := func(folder string) error {
		if err := os.Rename(folder, folder+".old"); err != nil {
			return err
		}
		return os.Symlink(folder+".old", folder)
	}
	for name, test := range map[string]struct {
		spoil func(folder string) error
		kind  tool.Kind
	}{
		"removed": {os.RemoveAll, tool.Invalid}, "a link that leads elsewhere": {elsewhere, tool.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, folder := &counted{}, inFolder(t, free)
			k := kerneltest.Open(t, kerneltest.StateDir(t), c.tool(t))
			asker := leave(t, k, session.Spec{Workspace: folder})
			expect(t, call(t, k, asker, "d1", "demo.run", ""), tool.Success, "")
			ok(t, test.spoil(folder))
			r := call(t, k, asker, "d2", "demo.run", "")
			if tool.KindOf(r.Err()) != test.kind || c.runs.Load() != 1 {
				t.Errorf("%+v after %d runs", r, c.runs.Load())
			}
			if again := call(t, k, asker, "d1", "demo.run", ""); again.Status != tool.Success {
				t.Errorf("what was made before is told all the same: %+v", again)
			}
		})
	}
}

// A token that is over has nothing called.
func TestTokenThatIsOver(t *testing.T) {
	t.Parallel()
	c, folder := &counted{}, inFolder(t, free)
	k := kerneltest.Open(t, kerneltest.StateDir(t), c.tool(t))
	human := kerneltest.Human(t, k)
	made, _, err := k.Tokens.Create(t.Context(), human, token.Token{Name: "bot", Role: token.Client})
	ok(t, err)
	asker := leave(t, k, session.Spec{Workspace: folder, Requester: approval.Requester{PID: 1, Token: made.ID}})
	expect(t, call(t, k, asker, "d1", "demo.run", ""), tool.Success, "")
	_, err = k.Tokens.Revoke(t.Context(), human, "bot")
	ok(t, err)
	expect(t, call(t, k, asker, "d2", "demo.run", ""), tool.Refused, tool.Denied)
	if c.runs.Load() != 1 {
		t.Errorf("it ran %d times", c.runs.Load())
	}
}

// A call of one ID happens once, however often it is made: side by side, one after the
// other, and by the next kernel.
func TestSameIDIsOnce(t *testing.T) {
	t.Parallel()
	c, folder, state := &counted{}, inFolder(t, free), kerneltest.StateDir(t)
	k := kerneltest.Open(t, state, c.tool(t))
	asker := leave(t, k, session.Spec{Workspace: folder})
	results := make([]*tool.Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = call(t, k, asker, "d1", "demo.run", "") })
	}
	wg.Wait()
	ok(t, k.Close())
	k = kerneltest.Open(t, state, c.tool(t))
	for _, r := range append(results, call(t, k, asker, "d1", "demo.run", "")) {
		if r.Status != tool.Success || string(r.Data) != `{"run":1}` || r.Call != "d1" {
			t.Errorf("%+v", r)
		}
	}
	if c.runs.Load() != 1 {
		t.Errorf("it ran %d times", c.runs.Load())
	}
	expect(t, call(t, k, asker, "", "demo.run", ""), tool.Failure, tool.Internal)
}

// A call that was asked about by a kernel that is gone is waited for, and runs once
// when a human says yes.
func TestAskedByAnEarlierKernel(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), inFolder(t, "app: {app_id: a}\n")
	write(t, filepath.Join(folder, "x"), "")
	k := kerneltest.Open(t, state)
	asker := leave(t, k, session.Spec{Workspace: folder})
	request := gate.CallRequest{ID: "d1", Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`)}
	done := make(chan *tool.Result, 1)
	go func() { done <- k.Deferred.Call(t.Context(), asker, request) }()
	id := asked(t, k).ID
	ok(t, k.Close())
	if r := <-done; r.Status != tool.Waiting {
		t.Errorf("%+v", r)
	}
	k = kerneltest.Open(t, state)
	go func() { done <- k.Deferred.Call(t.Context(), asker, request) }()
	kerneltest.Settle(t, k, id, approval.Answer{Approve: true})
	expect(t, <-done, tool.Success, "")
	begun, err := k.Journal.Read(t.Context(), journal.Query{Call: "d1", Kind: journal.Begun})
	if err != nil || len(begun) != 1 {
		t.Errorf("begun %d times, %v", len(begun), err)
	}
}

// A call that began in a kernel that was killed is told as in doubt, and never made
// again.
func TestInDoubt(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), inFolder(t, free)
	began := make(chan struct{})
	k := kerneltest.Open(t, state, kerneltest.NewTool(t, "demo.run", tool.Runtime{SideEffect: tool.Write},
		func(ctx context.Context) (any, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
	asker := leave(t, k, session.Spec{Workspace: folder})
	go func() { k.Deferred.Call(t.Context(), asker, gate.CallRequest{ID: "d1", Name: "demo.run"}) }()
	<-began
	left := filepath.Join(t.TempDir(), "state")
	ok(t, os.CopyFS(left, os.DirFS(state)))
	for _, name := range []string{"human.key", "journal.key"} {
		_ = os.Chmod(filepath.Join(left, name), 0o600)
	}
	c := &counted{}
	next := kerneltest.OpenWith(t, kernel.Config{State: left, Tools: []*tool.Tool{c.tool(t)}})
	for range 2 {
		expect(t, call(t, next, asker, "d1", "demo.run", ""), tool.Failure, tool.InDoubt)
	}
	if c.runs.Load() != 0 {
		t.Error("it was made again")
	}
}
