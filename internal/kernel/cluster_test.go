package kernel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// openNode opens a kernel that shares a database, in a state directory of its own.
func openNode(t *testing.T, url string, timing node.Timing, tools ...*tool.Tool) *kernel.Kernel {
	t.Helper()
	return kerneltest.OpenWith(t, kernel.Config{
		State: t.TempDir(), Storage: url, Node: timing, Tools: tools,
	})
}

// noted is a tool that leaves something behind, and one that needs a human's yes.
func noted(t *testing.T) []*tool.Tool {
	t.Helper()
	var tools []*tool.Tool
	for name, risk := range map[string]tool.Risk{"demo.note": tool.Low, "demo.drop": tool.High} {
		made, err := tool.Func(name, "A tool of the test.", tool.Runtime{Risk: risk, SideEffect: tool.Write},
			func(context.Context, struct{}) (any, error) { return map[string]any{"done": true}, nil })
		ok(t, err)
		tools = append(tools, made)
	}
	return tools
}

// Two kernels on one database have each their own sessions, calls, approvals, conversations and tasks.
func TestTwoKernelsShareADatabase(t *testing.T) {
	t.Parallel()
	url, model := kerneltest.Postgres.URL(t), kerneltest.NewModel(t, kerneltest.Answer{Text: "hi"}, kerneltest.Answer{Text: "ho"})
	a, b := openNode(t, url, node.Timing{}, noted(t)...), openNode(t, url, node.Timing{}, noted(t)...)
	if kernel.NodeOf(a).ID == "" || kernel.NodeOf(a).ID == kernel.NodeOf(b).ID {
		t.Fatalf("the nodes are %q and %q", kernel.NodeOf(a).ID, kernel.NodeOf(b).ID)
	}
	members, err := kernel.NodeOf(a).Members(t.Context())
	ok(t, err)
	if len(members) != 2 || members[0].State != "up" || members[1].State != "up" || members[0].This == members[1].This {
		t.Errorf("the members are %+v", members)
	}
	for _, k := range []*kernel.Kernel{a, b} {
		s := kerneltest.OpenSession(t, k, t.TempDir())
		if r := kerneltest.Call(t, s, "demo.note", `{}`); r.Status != tool.Success {
			t.Fatalf("the call: %s", r.Summary)
		}
		if r := kerneltest.Call(t, s, "demo.drop", `{}`); r.Status != tool.Waiting {
			t.Fatalf("the call that a human is asked about: %s", r.Summary)
		}
		folder := t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
		c := kerneltest.OpenConversation(t, k, folder)
		kerneltest.Send(t, c, "hello")
		c.Close()
		ok(t, k.Tasks.Tell(t.Context(), task.Task{ID: "news", Parent: c.ID(), Outcome: &task.Outcome{State: task.Done}}))
	}
	for _, k := range []*kernel.Kernel{a, b} {
		pending, err := k.Approvals.List(t.Context(), approval.Pending, 0)
		ok(t, err)
		talks, err := k.Conversations.List(t.Context(), 0)
		ok(t, err)
		if len(pending) != 1 || len(talks) != 1 {
			t.Errorf("a kernel has %d approvals and %d conversations", len(pending), len(talks))
		}
		begun, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Begun})
		ok(t, err)
		if len(begun) != 1 || begun[0].Seq > 10 {
			t.Errorf("its journal has begun %+v", begun)
		}
		report, err := k.Journal.Verify(t.Context())
		ok(t, err)
		if !report.OK() {
			t.Errorf("its journal: %+v", report)
		}
	}
	mine, err := a.Approvals.List(t.Context(), approval.Pending, 0)
	ok(t, err)
	if _, err := b.Approvals.Get(t.Context(), mine[0].ID); tool.KindOf(err) != tool.NotFound {
		t.Errorf("the other kernel has the approval: %v", err)
	}
	kerneltest.Settle(t, a, mine[0].ID, approval.Answer{Approve: true})
	if result, err := a.Collect(t.Context(), mine[0].Call.ID); err != nil || result.Status != tool.Success {
		t.Errorf("the approved call: %+v, %v", result, err)
	}
}

// A node that is drained begins nothing new, whoever asked for it; what is open goes on.
func TestDrainedNode(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	timing := node.Timing{Every: 20 * time.Millisecond}
	a, b := openNode(t, url, timing, noted(t)...), openNode(t, url, timing, noted(t)...)
	s := kerneltest.OpenSession(t, a, t.TempDir())
	found, err := kernel.NodeOf(b).Find(t.Context(), kernel.NodeOf(a).ID[:12])
	ok(t, err)
	ok(t, kernel.NodeOf(b).SetDraining(t.Context(), found.ID, true))
	until(t, "a node that drains", func() bool { return kernel.NodeOf(a).Draining() != nil })
	_, err = a.OpenSession(t.Context(), session.Spec{Workspace: t.TempDir()})
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "is being drained") {
		t.Errorf("a new session: %v", err)
	}
	if r := kerneltest.Call(t, s, "demo.note", `{}`); r.Status != tool.Success {
		t.Errorf("a call of an open session: %s", r.Summary)
	}
	kerneltest.OpenSession(t, b, t.TempDir()).Close()
	ok(t, kernel.NodeOf(a).SetDraining(t.Context(), found.ID, false))
	kerneltest.OpenSession(t, a, t.TempDir()).Close()
	for _, name := range []string{"nobody", ""} {
		if _, err := kernel.NodeOf(b).Find(t.Context(), name); (err == nil) != (name == "") {
			t.Errorf("the node %q: %v", name, err)
		}
	}
}

// The password of the database is masked wherever it shows.
func TestPasswordOfTheDatabase(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	say, err := tool.Func("demo.say", "A tool of the test.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		func(context.Context, struct{}) (any, error) { return map[string]any{"url": url}, nil })
	ok(t, err)
	var log bytes.Buffer
	k := kerneltest.OpenWith(t, kernel.Config{
		State: t.TempDir(), Storage: url, Tools: []*tool.Tool{say}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	r := kerneltest.Call(t, kerneltest.OpenSession(t, k, t.TempDir()), "demo.say", `{}`)
	records, err := k.Journal.Read(t.Context(), journal.Query{})
	ok(t, err)
	data, err := json.Marshal([]any{r, records, k.Warnings()})
	ok(t, err)
	if !strings.Contains(string(data), "CALLGATE_DATABASE") || strings.Contains(string(data), postgrestest.Password) {
		t.Errorf("the answer, the records and the warnings are %s", data)
	}
	if strings.Contains(log.String(), postgrestest.Password) {
		t.Errorf("the log says %s", log.String())
	}
}

// A token that was made at one node counts at the others, until it is revoked at any.
func TestTokensOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	_, value, err := a.Tokens.Create(t.Context(), kerneltest.Human(t, a), token.Token{Name: "ci", Role: token.Operator})
	ok(t, err)
	if got, err := b.Tokens.Use(t.Context(), value, token.Operator); err != nil || got.Name != "ci" {
		t.Fatalf("at the other node it is %+v, %v", got, err)
	}
	_, err = a.Tokens.Revoke(t.Context(), kerneltest.Human(t, a), "ci")
	ok(t, err)
	until(t, "the other node's refusal", func() bool {
		_, err := b.Tokens.Use(t.Context(), value, token.Operator)
		return err != nil
	})
}

// A kernel whose node another process has opened does nothing any more, and says so.
func TestNodeThatWasOpenedElsewhere(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	timing := node.Timing{Lease: 15 * time.Second, Every: 20 * time.Millisecond}
	state := t.TempDir()
	kerneltest.PlaceKey(t, state)
	first, err := kernel.Open(t.Context(), kernel.Config{
		State: state, Storage: url, Node: timing, Tools: noted(t), UserFile: filepath.Join(t.TempDir(), "none.yaml"),
	})
	ok(t, err)
	t.Cleanup(func() {
		if err := first.Close(); err == nil || !strings.Contains(err.Error(), "records could not be written") {
			t.Errorf("it closes with %v", err)
		}
	})
	s := kerneltest.OpenSession(t, first, t.TempDir())
	copied := t.TempDir() // as a machine has that was made from a copy of another
	id, err := os.ReadFile(filepath.Join(first.State().String(), "node"))
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(copied, "node"), id, 0o600))
	second := kerneltest.OpenWith(t, kernel.Config{State: copied, Storage: url, Node: timing, Tools: noted(t)})
	select {
	case <-kernel.NodeOf(first).Ended():
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	r := kerneltest.Call(t, s, "demo.note", `{}`)
	if r.Error == nil || r.Error.Kind != tool.Unavailable || !strings.Contains(r.Summary, "does not speak for the node") {
		t.Errorf("the call: %+v", r)
	}
	if w := strings.Join(first.Warnings(), "\n"); !strings.Contains(w, "does not speak for the node") {
		t.Errorf("its warnings are %q", w)
	}
	if r := kerneltest.Call(t, kerneltest.OpenSession(t, second, t.TempDir()), "demo.note", `{}`); r.Status != tool.Success {
		t.Errorf("the call at the other: %s", r.Summary)
	}
}

// A kernel that cannot reach its database stops what runs, begins nothing, and goes on when it can.
func TestKernelWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	server := postgrestest.Own()
	t.Cleanup(server.Stop)
	url := server.URL(t)
	began := make(chan struct{}, 1)
	wait, err := tool.Func("demo.wait", "A tool of the test.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		func(ctx context.Context, _ struct{}) (any, error) {
			began <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	ok(t, err)
	look, err := tool.Func("demo.look", "A tool of the test.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read},
		func(context.Context, struct{}) (any, error) { return map[string]any{"seen": true}, nil })
	ok(t, err)
	timing := node.Timing{Lease: 3 * time.Second, Every: 50 * time.Millisecond, Margin: 2800 * time.Millisecond}
	k := openNode(t, url, timing, wait, look)
	s := kerneltest.OpenSession(t, k, t.TempDir())
	stopped := make(chan *tool.Result, 1)
	until(t, "a call that runs", func() bool { // a busy machine may be late with a heartbeat
		go func() {
			stopped <- s.Call(t.Context(), session.CallRequest{Name: "demo.wait", Args: []byte(`{}`)})
		}()
		select {
		case <-began:
			return true
		case <-stopped:
			return false
		}
	})
	server.Crash(t)
	crashed := time.Now()
	r := <-stopped
	if r.Error == nil || r.Error.Kind != tool.Cancelled || !strings.Contains(r.Summary, "has not reached the database") {
		t.Errorf("the call that ran: %+v", r)
	}
	// On a busy machine a late heartbeat may have stopped the call before the crash, and the
	// next one let the node act again. The last heartbeat was sent before the crash, so the
	// node refuses every call that begins a whole window after it.
	until(t, "the end of the window", func() bool {
		late := time.Since(crashed) >= timing.Lease-timing.Margin
		r := kerneltest.Call(t, s, "demo.look", `{}`)
		if late && (r.Error == nil || r.Error.Kind != tool.Unavailable) {
			t.Errorf("a call that begins after the window: %+v", r)
		}
		return late
	})
	if w := strings.Join(k.Warnings(), "\n"); !strings.Contains(w, "has not reached the database") {
		t.Errorf("its warnings are %q", w)
	}
	server.Start(t)
	until(t, "a call after the server is back", func() bool {
		return kerneltest.Call(t, s, "demo.look", `{}`).Status == tool.Success
	})
}
