package recovery_test

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
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// An approval given while the kernel was going down is kept, run at the next
// start, and not run at one after its time.
func TestApprovedCallThatNeverBeganRunsAtTheNextStart(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
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

// A call that was left waiting and is refused ends too, and can be collected.
func TestRefusedCallThatNobodyWaitsForIsEnded(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	s := kerneltest.OpenSession(t, k, workspace)
	r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`), NoWait: true})
	key, err := k.State().HumanKey()
	ok(t, err)
	ok(
		t,
		k.Approvals.Answer(t.Context(), approval.Credential{Key: key, PID: approval.Unknown}, r.Approval, approval.Answer{Feedback: "keep it"}),
	)
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Refused || !strings.Contains(result.Summary, "keep it") {
		t.Errorf("%+v", result)
	}
}

// An answered call whose session cannot be made any more ends with the reason, so
// that who collects it does not wait for ever.
func TestAnsweredCallWithoutASessionIsEnded(t *testing.T) {
	t.Parallel()
	const appFile = "app: {app_id: a}\n"
	for _, test := range []struct {
		name   string
		spoil  func(workspace string) error
		answer approval.Answer
		want   string
	}{
		{"its folder is gone", os.RemoveAll, approval.Answer{Approve: true}, "cannot go on"},
		{"its app file is broken", func(workspace string) error {
			return os.WriteFile(filepath.Join(workspace, "callgate.yaml"), []byte("nonsense: ["), 0o600)
		}, approval.Answer{Approve: true}, "cannot go on"},
		{"refused, and its folder is gone", os.RemoveAll, approval.Answer{Feedback: "keep it"}, "keep it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state, workspace := kerneltest.StateDir(t), filepath.Join(t.TempDir(), "work")
			ok(t, os.Mkdir(workspace, 0o700))
			write(t, filepath.Join(workspace, "x"), "")
			write(t, filepath.Join(workspace, "callgate.yaml"), appFile)
			k := kerneltest.Open(t, state)
			s := kerneltest.OpenSession(t, k, workspace)
			r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`), NoWait: true})
			if r.Status != tool.Waiting {
				t.Fatalf("%+v", r)
			}
			s.Close()
			ok(t, test.spoil(workspace))
			key, err := k.State().HumanKey()
			ok(t, err)
			ok(t, k.Approvals.Answer(t.Context(), approval.Credential{Key: key, PID: approval.Unknown}, r.Approval, test.answer))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			result, err := k.Collect(ctx, r.Call)
			ok(t, err)
			if result.Status != tool.Refused && result.Status != tool.Failure || !strings.Contains(result.Summary, test.want) {
				t.Errorf("%+v", result)
			}
			ok(t, k.Close())
			k = kerneltest.Open(t, state) // nothing is left to do at the next start
			ended, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Ended})
			ok(t, err)
			if len(ended) != 1 || ended[0].Tool == "" || ended[0].Principal == nil {
				t.Errorf("the ends are %+v", ended)
			}
			left, err := k.Approvals.List(t.Context(), approval.Approved, 0)
			ok(t, err)
			if len(left) > 0 {
				t.Errorf("still approved: %+v", left)
			}
		})
	}
}

// A yes of another day runs nothing, and the call ends.
func TestCallWhoseApprovalIsTooOldIsEnded(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, workspace)
	r := s.Call(t.Context(), session.CallRequest{Name: "filesystem.delete", Args: json.RawMessage(`{"path":"x"}`), NoWait: true})
	if r.Status != tool.Waiting {
		t.Fatalf("%+v", r)
	}
	ok(t, k.Close())
	db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
	ok(t, err)
	old := &approval.Answer{Approve: true, At: time.Now().Add(-24 * time.Hour)}
	_, err = db.Stores().Approvals.Settle(t.Context(), r.Approval, approval.Pending, approval.Approved, old)
	ok(t, err)
	ok(t, db.Close())
	k = kerneltest.Open(t, state)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	result, err := k.Collect(ctx, r.Call)
	ok(t, err)
	if result.Status != tool.Refused || !strings.Contains(result.Summary, "too old") {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(filepath.Join(workspace, "x")); err != nil {
		t.Error("it ran")
	}
}

// The principal of a call in doubt learns of it once; what may be repeated is repeated.
func TestCallsInDoubtAreRetriedOrReported(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	ran := map[string]int{}
	var mu sync.Mutex
	make := func(name string, idempotent, crash bool) *tool.Tool {
		made, err := tool.Func(
			"team."+name,
			"A tool that may be in doubt.",
			tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Idempotent: idempotent},
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
			},
		)
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
