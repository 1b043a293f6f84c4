package answeredcalls_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
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
	r := kerneltest.Call(t, s, "filesystem.delete", `{"path":"x"}`)
	if r.Status != tool.Waiting {
		t.Fatalf("%+v", r)
	}
	k.Approvals.Reserve(r.Approval) // as a waiter would that is about to be killed
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
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
	r := kerneltest.Call(t, s, "filesystem.delete", `{"path":"x"}`)
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Feedback: "keep it"})
	result, err := k.Collect(t.Context(), r.Call)
	ok(t, err)
	if result.Status != tool.Refused || !strings.Contains(result.Summary, "keep it") {
		t.Errorf("%+v", result)
	}
}

// A refusal whose kernel was killed before it was on record is put there at the next
// start, once.
func TestRefusedCallOfAKilledKernelIsEnded(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	write(t, filepath.Join(workspace, "x"), "")
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, workspace)
	r := kerneltest.Call(t, s, "filesystem.delete", `{"path":"x"}`)
	k.Approvals.Reserve(r.Approval) // as a waiter would that is about to be killed
	kerneltest.Settle(t, k, r.Approval, approval.Answer{})
	ok(t, k.Close())
	for range 2 {
		k = kerneltest.Open(t, state)
		ended, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call, Kind: journal.Ended})
		ok(t, err)
		if len(ended) != 1 || ended[0].End.Status != tool.Refused {
			t.Errorf("%+v", ended)
		}
		ok(t, k.Close())
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
			r := kerneltest.Call(t, s, "filesystem.delete", `{"path":"x"}`)
			if r.Status != tool.Waiting {
				t.Fatalf("%+v", r)
			}
			s.Close()
			ok(t, test.spoil(workspace))
			kerneltest.Settle(t, k, r.Approval, test.answer)
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
	r := kerneltest.Call(t, s, "filesystem.delete", `{"path":"x"}`)
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
