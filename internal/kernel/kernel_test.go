package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestEachSessionHasItsAppsRules(t *testing.T) {
	k := kerneltest.Open(t, t.TempDir(), teamTools()...)
	plain, ruled, without, broken := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(ruled, "callgate.yaml"), "tools:\n  modules:\n    filesystem:\n      constraints:\n        allowed_actions: [read]\n  capabilities:\n    default_policy: auto\n    deny:\n      - module: team\n")
	write(t, filepath.Join(without, "callgate.yaml"), "tools:\n  modules: {}\n  capabilities:\n    default_policy: auto\n    hidden_modules: [team]\n")
	write(t, filepath.Join(broken, "callgate.yaml"), "tools:\n  modles: {}\n")

	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, plain)); !strings.Contains(got, "filesystem.write=allow") || !strings.Contains(got, "team.purge=approve") {
		t.Errorf("without an app file: %s", got)
	}
	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, ruled)); got != "filesystem.read=allow wiki.search=allow" {
		t.Errorf("with rules: %s", got)
	}
	if got := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, without)); got != "wiki.search=allow" {
		t.Errorf("with no modules: %s", got)
	}
	_, err := k.OpenSession(t.Context(), session.Spec{Workspace: broken})
	if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "callgate.yaml:2:3") || !strings.Contains(err.Error(), "modules") {
		t.Errorf("a broken app file: %v", err)
	}
	for _, bad := range []string{"", filepath.Join(plain, "nowhere")} {
		if _, err := k.OpenSession(t.Context(), session.Spec{Workspace: bad}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("workspace %q: %v", bad, err)
		}
	}
	if _, err := k.Requester(0, "guessed"); tool.KindOf(err) != tool.Denied {
		t.Errorf("a guessed key: %v", err)
	}
}

// Agents in overlapping folders meet at the same lock: a hundred read-modify-
// write calls from two workspaces lose nothing.
func TestOverlappingWorkspacesShareLocks(t *testing.T) {
	outer := t.TempDir()
	inner := filepath.Join(outer, "inner")
	ok(t, os.Mkdir(inner, 0o755))
	k := kerneltest.Open(t, t.TempDir())
	sessions := map[string]*session.Session{"inner/log.txt": kerneltest.OpenSession(t, k, outer), "log.txt": kerneltest.OpenSession(t, k, inner)}
	var wg sync.WaitGroup
	for path, s := range sessions {
		for i := range 50 {
			wg.Go(func() {
				args := fmt.Sprintf(`{"path":%q,"content":"line %d\n","mode":"append"}`, path, i)
				if r := s.Call(context.Background(), session.CallRequest{Name: "Write", Args: json.RawMessage(args)}); r.Status != tool.Success {
					t.Errorf("%s: %s", args, r.Summary)
				}
			})
		}
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(inner, "log.txt"))
	ok(t, err)
	if n := strings.Count(string(data), "\n"); n != 100 {
		t.Errorf("%d of 100 lines are there", n)
	}
}

func TestFollowAcrossARestart(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	var last uint64
	var seen []uint64
	for range 3 {
		k := kerneltest.Open(t, state)
		s := kerneltest.OpenSession(t, k, workspace)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for r, err := range k.Journal.Follow(ctx, last) {
				if err != nil {
					t.Error(err)
					return
				}
				last = r.Seq
				seen = append(seen, r.Seq)
				if r.Kind == journal.Ended && r.End.Summary == "the last" {
					return
				}
			}
		}()
		for i := range 5 {
			s.Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(fmt.Sprintf(`{"path":"f","content":"%d"}`, i))})
		}
		ok(t, k.Journal.Append(journal.Record{Kind: journal.Ended, Call: "mark", End: &journal.End{Summary: "the last"}}))
		<-done
		cancel()
		ok(t, k.Close())
	}
	for i, seq := range seen {
		if seq != uint64(i+1) {
			t.Fatalf("the follower saw %v", seen)
		}
	}
	if len(seen) < 3*(5*3+1) {
		t.Errorf("only %d records", len(seen))
	}
}

// An approval given while the kernel was going down is kept, run at the next
// start, and not run at one after its time.
func TestApprovedButNeverBegun(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, workspace)
	r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`), NoWait: true})
	if r.Status != tool.Waiting {
		t.Fatalf("%+v", r)
	}
	k.Approvals.Reserve(r.Approval) // as a waiter would that is about to be killed
	key, err := k.State().HumanKey()
	ok(t, err)
	ok(t, k.Approvals.Answer(t.Context(), approval.Credential{Key: key, PID: approval.Unknown}, r.Approval, approval.Answer{Approve: true}))
	ok(t, k.Close())
	if _, err := os.Stat(filepath.Join(workspace, "x")); err != nil {
		t.Fatal("it ran although it was claimed")
	}
	k = kerneltest.Open(t, state)
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Success {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(filepath.Join(workspace, "x")); err == nil {
		t.Error("it never ran")
	}
}

// A call that was left waiting and is refused ends too, for whoever collects it.
func TestRefusedWithoutAWaiterIsEnded(t *testing.T) {
	k := kerneltest.Open(t, t.TempDir())
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	s := kerneltest.OpenSession(t, k, workspace)
	r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`), NoWait: true})
	key, err := k.State().HumanKey()
	ok(t, err)
	ok(t, k.Approvals.Answer(t.Context(), approval.Credential{Key: key, PID: approval.Unknown}, r.Approval, approval.Answer{Feedback: "keep it"}))
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Refused || !strings.Contains(result.Summary, "keep it") {
		t.Errorf("%+v", result)
	}
}

func TestRetainDropsOldEpochsAndTheirArtifacts(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	k := kerneltest.Open(t, state)
	big := fmt.Sprintf(`{"path":"big","content":%q}`, strings.Repeat("x", 20_000))
	if r := kerneltest.OpenSession(t, k, workspace).Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(big)}); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	r := kerneltest.OpenSession(t, k, workspace).Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(`{"path":"small","content":"y"}`)})
	ok(t, k.Journal.Flush(t.Context()))
	records, artifacts, err := k.Prune(t.Context(), time.Now())
	ok(t, err)
	if records == 0 || artifacts.Count != 1 {
		t.Errorf("dropped %d records and %d artifacts", records, artifacts.Count)
	}
	left, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call})
	ok(t, err)
	if len(left) != 3 {
		t.Errorf("%d records of the second life are left", len(left))
	}
	report, err := k.Journal.Verify(t.Context())
	ok(t, err)
	if !report.OK() {
		t.Errorf("%+v", report)
	}
}

// A call in doubt is told to whoever asked, once; what may be repeated is.
func TestCallsInDoubt(t *testing.T) {
	state, workspace := t.TempDir(), t.TempDir()
	ran := map[string]int{}
	var mu sync.Mutex
	make := func(name string, idempotent, crash bool) *tool.Tool {
		made, err := tool.Func("team."+name, "A tool that may be in doubt.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Idempotent: idempotent},
			func(ctx context.Context, in struct {
				N int `json:"n"`
			}) (string, error) {
				mu.Lock()
				ran[fmt.Sprint(name, in.N)]++
				mu.Unlock()
				if crash {
					<-ctx.Done()
				}
				return "done", nil
			})
		ok(t, err)
		return made
	}
	// The first life begins both calls and never records their end: its state
	// is copied while they run, as a crash would leave it.
	k := kerneltest.Open(t, state, make("once", false, true), make("again", true, true))
	s := kerneltest.OpenSession(t, k, workspace)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	calls := map[string]bool{}
	for _, name := range []string{"team.once", "team.again"} {
		wg.Go(func() { s.Call(ctx, session.CallRequest{Name: name, Args: json.RawMessage(`{"n":7}`)}) })
	}
	for r, err := range k.Journal.Follow(ctx, 0) {
		ok(t, err)
		if r.Kind == journal.Begun {
			calls[r.Call] = true
		}
		if len(calls) == 2 {
			break
		}
	}
	crashed := filepath.Join(t.TempDir(), "state")
	ok(t, os.CopyFS(crashed, os.DirFS(state)))
	ok(t, os.Chmod(filepath.Join(crashed, "human.key"), 0o600))
	cancel()
	wg.Wait()
	ok(t, k.Close())
	clear(ran)

	k = kerneltest.Open(t, crashed, make("once", false, false), make("again", true, false))
	for r, err := range k.Journal.Follow(t.Context(), 0) { // until the retry has resolved its doubt
		ok(t, err)
		if r.Kind == journal.Resolved {
			if r.Tool != "team:again@1.0.0" || r.Resolution.Retry == "" {
				t.Errorf("resolved: %+v", r)
			}
			break
		}
	}
	mu.Lock()
	if len(ran) != 1 || ran["again7"] != 1 {
		t.Errorf("ran again: %v", ran)
	}
	mu.Unlock()
	open, err := k.Journal.Doubts(t.Context())
	ok(t, err)
	if len(open) != 1 || open[0].Tool != "team:once@1.0.0" {
		t.Fatalf("in doubt: %+v", open)
	}
	s = kerneltest.OpenSession(t, k, workspace)
	told := s.Call(t.Context(), session.CallRequest{Name: "team.again", Args: json.RawMessage(`{"n":1}`)}).Warnings
	if len(told) != 2 || !strings.Contains(told[0]+told[1], "team.once") {
		t.Errorf("told %q", told)
	}
	if told := s.Call(t.Context(), session.CallRequest{Name: "team.again", Args: json.RawMessage(`{"n":2}`)}).Warnings; len(told) != 0 {
		t.Errorf("told again: %q", told)
	}
	ok(t, k.Journal.Resolve(t.Context(), open[0].Call, journal.Resolution{Happened: true, By: "ada"}))
	if err := k.Journal.Resolve(t.Context(), open[0].Call, journal.Resolution{}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("resolved twice: %v", err)
	}
}

func TestCloseCancelsWhatRunsAndRecordsIt(t *testing.T) {
	state := t.TempDir()
	started := make(chan struct{})
	hang, err := tool.Func("team.hang", "Hangs until it is told to stop.", tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		func(ctx context.Context, _ struct{}) (string, error) {
			close(started)
			<-ctx.Done()
			return "", ctx.Err()
		})
	ok(t, err)
	k := kerneltest.Open(t, state, hang)
	s := kerneltest.OpenSession(t, k, t.TempDir())
	done := make(chan *tool.Result)
	go func() { done <- s.Call(context.Background(), session.CallRequest{Name: "team.hang", Args: nil}) }()
	<-started
	ok(t, k.Close())
	if r := <-done; r.Error == nil || r.Error.Kind != tool.Cancelled {
		t.Errorf("%+v", r)
	}
	if r := s.Call(context.Background(), session.CallRequest{Name: "team.hang", Args: nil}); r.Error == nil || r.Error.Kind != tool.Unavailable {
		t.Errorf("a call after the end: %+v", r)
	}
	k = kerneltest.Open(t, state)
	if open, err := k.Journal.Doubts(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("in doubt after an orderly end: %v, %v", open, err)
	}
}

func TestKernelClosesOnce(t *testing.T) {
	k := kerneltest.Open(t, t.TempDir())
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Somebody who works in their home has the kernel's state among their files: no
// tool reaches it, by whatever name.
func TestStateInsideTheWorkspace(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, ".local", "state", "callgate")
	ok(t, os.MkdirAll(filepath.Dir(state), 0o700))
	k := kerneltest.Open(t, state)
	write(t, filepath.Join(home, "notes.txt"), "mine")
	ok(t, os.Symlink(filepath.Join(".local", "state"), filepath.Join(home, "link")))
	ok(t, os.Symlink(filepath.Join("link", "callgate", "human.key"), filepath.Join(home, "key")))
	write(t, filepath.Join(home, "callgate.yaml"), "tools: {capabilities: {default_policy: auto}}\n")
	key, err := k.State().HumanKey()
	ok(t, err)
	s := kerneltest.OpenSession(t, k, home)
	for _, c := range []struct{ name, args string }{
		{"filesystem.read", `{"path":".local/state/callgate/human.key"}`}, {"filesystem.read", `{"path":"link/callgate/human.key"}`}, {"filesystem.read", `{"path":"key"}`},
		{"filesystem.write", `{"path":"link/callgate/human.key","content":"x"}`}, {"filesystem.edit", `{"path":"key","op":"append","new":"x"}`},
		{"filesystem.list", `{"path":"link/callgate"}`}, {"filesystem.glob", `{"pattern":"*","path":".local/state/callgate"}`},
		{"filesystem.delete", `{"path":".local","recursive":true}`}, {"filesystem.delete", `{"path":".local/state/callgate","recursive":true}`},
		{"filesystem.move", `{"from":".local","to":"elsewhere"}`}, {"filesystem.move", `{"from":"key","to":"k2","overwrite":true}`},
	} {
		if r := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args)}); r.Status == tool.Success && c.name != "filesystem.move" {
			t.Errorf("%s %s: %+v", c.name, c.args, r)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"filesystem.grep", fmt.Sprintf(`{"pattern":%q,"hidden":true}`, key[:8])}, {"filesystem.glob", `{"pattern":"**/human.*","hidden":true}`},
		{"filesystem.list", `{"path":".","recursive":true,"all":true}`},
	} {
		r := s.Call(t.Context(), session.CallRequest{Name: c.name, Args: json.RawMessage(c.args)})
		data, _ := json.Marshal(r)
		if r.Status != tool.Success || strings.Contains(string(data), "state/callgate\"") || strings.Contains(string(data), key) {
			t.Errorf("%s: %s", c.name, data)
		}
	}
	if again, err := k.State().HumanKey(); err != nil || again != key {
		t.Errorf("the key is %q, %v", again, err)
	}
	if r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.read", Args: json.RawMessage(`{"path":"notes.txt"}`)}); r.Status != tool.Success {
		t.Errorf("an ordinary file: %+v", r)
	}
}
