package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestJournalIsFollowedAcrossRestarts(t *testing.T) {
	kerneltest.OnEachStorage(t, testJournalIsFollowedAcrossRestarts)
}

func testJournalIsFollowedAcrossRestarts(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
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

func TestPruneDropsOldEpochsAndTheirArtifacts(t *testing.T) {
	kerneltest.OnEachStorage(t, testPruneDropsOldEpochsAndTheirArtifacts)
}

func testPruneDropsOldEpochsAndTheirArtifacts(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	k := kerneltest.Open(t, state)
	big := fmt.Sprintf(`{"path":"big","content":%q}`, strings.Repeat("x", 20_000))
	if r := kerneltest.OpenSession(t, k, workspace).Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(big)}); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	r := kerneltest.OpenSession(t, k, workspace).
		Call(t.Context(), session.CallRequest{Name: "filesystem.write", Args: json.RawMessage(`{"path":"small","content":"y"}`)})
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

func TestCloseCancelsWhatRunsAndRecordsIt(t *testing.T) {
	kerneltest.OnEachStorage(t, testCloseCancelsWhatRunsAndRecordsIt)
}

func testCloseCancelsWhatRunsAndRecordsIt(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
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
	if r := s.Call(context.Background(), session.CallRequest{Name: "team.hang", Args: nil}); r.Error == nil ||
		r.Error.Kind != tool.Unavailable {
		t.Errorf("a call after the end: %+v", r)
	}
	k = kerneltest.Open(t, state)
	if open, err := k.Journal.Doubts(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("in doubt after an orderly end: %v, %v", open, err)
	}
}

func TestKernelClosesOnce(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}
