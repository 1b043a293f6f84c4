package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/approval"
	"callgate/internal/storage"
	"callgate/tool"
)

// Approvals tests a driver's approval.Store.
func Approvals(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip":     approvalRoundTrip,
		"Create":        createIsPendingAndUnique,
		"NotFound":      approvalNotFound,
		"Lists":         listsApprovals,
		"SettleMoves":   settleMoves,
		"SettleOnce":    settleOnce,
		"SettleAnswers": settleKeepsAnswers,
	})
	t.Run("Persists", func(t *testing.T) { approvalsPersist(t, open) })
}

// request makes a request with every field set.
func request(id string) approval.Request {
	at := time.Date(2026, 3, 4, 5, 6, 7, 891234567, time.UTC)
	return approval.Request{
		ID: id, State: approval.Pending,
		Call: tool.Call{
			ID: "call-" + id, Parent: "parent", Name: "notes.write",
			Principal: tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "s1", Lane: "core"},
			Tool:      tool.ID{Namespace: "notes", Name: "write", Version: tool.Version{Major: 1}},
			Args:      json.RawMessage(`{"path":"a","text":"<é> & \u0000"}`),
		},
		Workspace: "/home/ada/notes", AppFile: "callgate.yaml", Risk: tool.High, Reason: "it writes",
		Claims:  []tool.Claim{{Resource: "file:/home/ada/notes/a", Mode: tool.U}},
		AskedAt: at, Deadline: at.Add(5 * time.Minute),
	}
}

func mustCreate(t *testing.T, s approval.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Create(t.Context(), request(id)); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares requests; arguments are equal when their JSON is.
func same(t *testing.T, want, got approval.Request) {
	t.Helper()
	asJSON := cmp.Transformer("json", func(raw json.RawMessage) any {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return string(raw)
		}
		return v
	})
	if diff := cmp.Diff(want, got, asJSON); diff != "" {
		t.Fatal(diff)
	}
}

func mustGet(t *testing.T, s approval.Store, id string) approval.Request {
	t.Helper()
	r, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func approvalRoundTrip(t *testing.T, d storage.Driver) {
	mustCreate(t, d.Stores().Approvals, "a", "'; --")
	same(t, request("a"), mustGet(t, d.Stores().Approvals, "a"))
	same(t, request("'; --"), mustGet(t, d.Stores().Approvals, "'; --"))
}

func createIsPendingAndUnique(t *testing.T, d storage.Driver) {
	s := d.Stores().Approvals
	forged := request("a")
	forged.State, forged.Answer = approval.Approved, &approval.Answer{Approve: true, By: "nobody"}
	if err := s.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	same(t, request("a"), mustGet(t, s, "a"))
	if err := s.Create(t.Context(), request("a")); tool.KindOf(err) != tool.Conflict {
		t.Fatalf("an id that exists: %v, want a conflict", err)
	}
}

func approvalNotFound(t *testing.T, d storage.Driver) {
	if _, err := d.Stores().Approvals.Get(t.Context(), "a"); tool.KindOf(err) != tool.NotFound {
		t.Fatalf("got %v, want kind not_found", err)
	}
	moved, err := d.Stores().Approvals.Settle(t.Context(), "a", approval.Pending, approval.Denied, nil)
	if err != nil || moved {
		t.Fatalf("settling nothing: %v, %v", moved, err)
	}
}

func listsApprovals(t *testing.T, d storage.Driver) {
	s := d.Stores().Approvals
	mustCreate(t, s, "d", "b", "c", "a") // oldest first is not by id
	if moved, err := s.Settle(t.Context(), "b", approval.Pending, approval.Denied, nil); err != nil || !moved {
		t.Fatal(moved, err)
	}
	for _, tt := range []struct {
		state approval.State
		limit int
		want  []string
	}{
		{"", 0, []string{"d", "b", "c", "a"}},
		{"", 2, []string{"c", "a"}},
		{approval.Pending, 10, []string{"d", "c", "a"}},
		{approval.Pending, 2, []string{"c", "a"}},
		{approval.Denied, 10, []string{"b"}},
		{approval.Used, 10, nil},
	} {
		found, err := s.List(t.Context(), tt.state, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range found {
			ids = append(ids, r.ID)
		}
		if diff := cmp.Diff(tt.want, ids); diff != "" {
			t.Errorf("state %q, limit %d: %s", tt.state, tt.limit, diff)
		}
	}
}

func settleMoves(t *testing.T, d storage.Driver) {
	s := d.Stores().Approvals
	mustCreate(t, s, "a", "b")
	for _, tt := range []struct {
		from, to approval.State
		want     bool
	}{
		{approval.Approved, approval.Used, false},
		{approval.Pending, approval.Approved, true},
		{approval.Pending, approval.Denied, false},
		{approval.Approved, approval.Used, true},
		{approval.Approved, approval.Used, false},
	} {
		moved, err := s.Settle(t.Context(), "a", tt.from, tt.to, nil)
		if err != nil || moved != tt.want {
			t.Fatalf("%s to %s: %v, %v", tt.from, tt.to, moved, err)
		}
	}
	if got := mustGet(t, s, "a").State; got != approval.Used {
		t.Errorf("a is %s, want spent", got)
	}
	if got := mustGet(t, s, "b").State; got != approval.Pending {
		t.Errorf("b is %s, want pending", got)
	}
}

// settleOnce: of many who answer at once one is first.
func settleOnce(t *testing.T, d storage.Driver) {
	s := d.Stores().Approvals
	for n := range 5 {
		id := fmt.Sprint(n)
		mustCreate(t, s, id)
		var wg sync.WaitGroup
		var first atomic.Int32
		by := make(chan string, 1)
		for who := range 16 {
			wg.Go(func() {
				name := fmt.Sprint(who)
				answer := &approval.Answer{Approve: true, By: name}
				moved, err := s.Settle(context.Background(), id, approval.Pending, approval.Approved, answer)
				if err != nil {
					t.Error(err)
				}
				if moved {
					first.Add(1)
					by <- name
				}
			})
		}
		wg.Wait()
		if first.Load() != 1 {
			t.Fatalf("%d were first", first.Load())
		}
		if got, want := mustGet(t, s, id).Answer.By, <-by; got != want {
			t.Fatalf("answered by %q, want %q", got, want)
		}
	}
}

func settleKeepsAnswers(t *testing.T, d storage.Driver) {
	s := d.Stores().Approvals
	mustCreate(t, s, "a")
	answer := &approval.Answer{
		Approve: true, Args: json.RawMessage(`{"path":"b"}`), Always: true, Feedback: "go on",
		By: "ada", At: time.Date(2026, 3, 4, 5, 7, 0, 1, time.UTC),
	}
	if moved, err := s.Settle(t.Context(), "a", approval.Pending, approval.Approved, answer); err != nil || !moved {
		t.Fatal(moved, err)
	}
	refused := &approval.Answer{By: "late"}
	if moved, err := s.Settle(t.Context(), "a", approval.Pending, approval.Denied, refused); err != nil || moved {
		t.Fatal(moved, err)
	}
	if moved, err := s.Settle(t.Context(), "a", approval.Approved, approval.Used, nil); err != nil || !moved {
		t.Fatal(moved, err)
	}
	want := request("a")
	want.State, want.Answer = approval.Used, answer
	same(t, want, mustGet(t, s, "a"))
}

func approvalsPersist(t *testing.T, open Open) {
	place := t.TempDir()
	d := open(t, place)
	mustCreate(t, d.Stores().Approvals, "a", "b")
	moved, err := d.Stores().Approvals.Settle(t.Context(), "a", approval.Pending, approval.Expired, nil)
	if err != nil || !moved {
		t.Fatal(moved, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, place)
	defer d.Close()
	want := request("a")
	want.State = approval.Expired
	same(t, want, mustGet(t, d.Stores().Approvals, "a"))
	same(t, request("b"), mustGet(t, d.Stores().Approvals, "b"))
}
