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

	"callgate/internal/conversation/history"
	"callgate/internal/storage"
	"callgate/llm"
	"callgate/tool"
)

// Conversations tests a driver's history.Store and history.Deleter.
func Conversations(t *testing.T, open Open) {
	each(t, open, map[string]func(*testing.T, storage.Driver){
		"RoundTrip": eventsRoundTrip,
		"Create":    createIsUnique,
		"NotFound":  conversationNotFound,
		"Lists":     listsConversations,
		"OneWriter": oneAppendWins,
		"Delete":    deletesConversation,
	})
	t.Run("Persists", func(t *testing.T) { conversationsPersist(t, open) })
}

var day = time.Date(2026, 3, 4, 5, 6, 7, 891234567, time.UTC)

func newInfo(id string) history.Info {
	return history.Info{
		ID: id, App: "notes", AppFile: "callgate.yaml", Agent: "main", Workspace: "/home/ada", User: "ada",
		Title: "hello", Created: day, Updated: day,
	}
}

// allEvents is one event of each type with every field set.
func allEvents() []history.Event {
	said := llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		{Text: "é \u0000 <&>"},
		{Call: &llm.ToolCall{ID: "m1", Name: "notes__write", Args: json.RawMessage(`{"a":1}`)}},
		{Reasoning: &llm.Reasoning{Provider: "p", Text: "hm", Signature: "s"}},
	}}
	hello := llm.Message{Role: llm.User, Parts: []llm.Part{
		{Text: "hello"}, {Image: &llm.Image{MIME: "image/png", Data: []byte{0, 1, 2}}},
	}}
	usage := &llm.Usage{Input: 3, Output: 4, Cost: 5, Priced: true}
	call := &history.Call{Model: "m1", ID: "c1", Name: "notes__write"}
	made := *call
	made.Args = json.RawMessage(`{"a":1}`)
	result := &history.Result{
		Status: tool.Success, Summary: "done", Content: []tool.Content{tool.Text("x")}, Approval: "ap1",
	}
	return []history.Event{
		{Type: history.User, At: day, Message: &hello},
		{Type: history.Assistant, At: day, Message: &said, Usage: usage, Model: "m"},
		{Type: history.CallMade, At: day, Call: &made},
		{Type: history.CallEnded, At: day, Call: call, Result: result},
		{Type: history.Compacted, At: day, Compaction: &history.Compaction{
			Summary: "so far", Kept: 2, Pinned: []int{0, 3},
			Shortened: []history.Shortened{{Message: 3, Call: "m1", Text: "é …"}},
			Dropped:   5, Warning: "no money", Before: 9, After: 4, Usage: &llm.Usage{Input: 1, Priced: true}, Model: "small",
		}},
		{Type: history.TurnEnded, At: day, End: &history.End{Reason: history.Failed, Error: "no money"}},
	}
}

func numbered(after int64, events []history.Event) []history.Event {
	for i := range events {
		events[i].Seq = after + int64(i) + 1
	}
	return events
}

func begin(t *testing.T, d storage.Driver, ids ...string) history.Store {
	t.Helper()
	for _, id := range ids {
		if err := d.Stores().Conversations.Create(t.Context(), newInfo(id)); err != nil {
			t.Fatal(err)
		}
	}
	return d.Stores().Conversations
}

func eventsRoundTrip(t *testing.T, d storage.Driver) {
	s := begin(t, d, "a", "b")
	info := newInfo("a")
	if err := s.Append(t.Context(), info, 0, allEvents()); err != nil {
		t.Fatal(err)
	}
	info.Turns, info.ToolCalls, info.Usage, info.Last = 1, 1, llm.Usage{Input: 3, Cost: 5, Priced: true}, history.Done
	info.Updated = day.Add(time.Hour)
	if err := s.Append(t.Context(), info, 6, allEvents()[:2]); err != nil {
		t.Fatal(err)
	}
	got, err := s.Read(t.Context(), "a", 0)
	want := append(numbered(0, allEvents()), numbered(6, allEvents()[:2])...)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	got, err = s.Read(t.Context(), "a", 5)
	if diff := cmp.Diff(want[5:], got); err != nil || diff != "" {
		t.Errorf("after the fifth: %v %s", err, diff)
	}
	info.Events = 8
	kept, err := s.Get(t.Context(), "a")
	if diff := cmp.Diff(info, kept); err != nil || diff != "" {
		t.Errorf("the info: %v %s", err, diff)
	}
	if other, err := s.Read(t.Context(), "b", 0); err != nil || len(other) != 0 {
		t.Errorf("another conversation has %v, %v", other, err)
	}
}

func createIsUnique(t *testing.T, d storage.Driver) {
	s := begin(t, d, "a")
	if err := s.Create(t.Context(), newInfo("a")); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second time: %v", err)
	}
}

func conversationNotFound(t *testing.T, d storage.Driver) {
	s := d.Stores().Conversations
	_, err := s.Get(t.Context(), "none")
	isKind(t, "get", err, tool.NotFound)
	isKind(t, "append", s.Append(t.Context(), newInfo("none"), 0, allEvents()), tool.NotFound)
	isKind(t, "delete", d.Stores().Deleter.Delete(t.Context(), "none"), tool.NotFound)
	if events, err := s.Read(t.Context(), "none", 0); err != nil || len(events) != 0 {
		t.Errorf("read: %v, %v", events, err)
	}
}

func listsConversations(t *testing.T, d storage.Driver) {
	s := begin(t, d, "a", "b", "c")
	for i, id := range []string{"b", "a"} {
		info := newInfo(id)
		info.Updated = day.Add(time.Duration(i+1) * time.Minute)
		if err := s.Append(t.Context(), info, 0, allEvents()[:1]); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{0: "a b c ", 2: "a b ", 9: "a b c "} {
		list, err := s.List(t.Context(), limit)
		got := ""
		for _, info := range list {
			got += info.ID + " "
		}
		if err != nil || got != want {
			t.Errorf("limit %d: %q, %v", limit, got, err)
		}
	}
}

func oneAppendWins(t *testing.T, d storage.Driver) {
	s := begin(t, d, "a")
	var won, lost atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch err := s.Append(context.Background(), newInfo("a"), 0, allEvents()[:2]); {
			case err == nil:
				won.Add(1)
			case tool.KindOf(err) == tool.Conflict:
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	events, err := s.Read(t.Context(), "a", 0)
	if won.Load() != 1 || lost.Load() != 7 || err != nil || len(events) != 2 {
		t.Errorf("%d won, %d lost, %d events, %v", won.Load(), lost.Load(), len(events), err)
	}
}

func deletesConversation(t *testing.T, d storage.Driver) {
	s := begin(t, d, "a", "b")
	for _, id := range []string{"a", "b"} {
		if err := s.Append(t.Context(), newInfo(id), 0, allEvents()); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Stores().Deleter.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Read(t.Context(), "a", 0)
	stays, err2 := s.Read(t.Context(), "b", 0)
	if err != nil || err2 != nil || len(gone) != 0 || len(stays) != 6 {
		t.Errorf("%d events are left of it, %d of the other, %v, %v", len(gone), len(stays), err, err2)
	}
}

func conversationsPersist(t *testing.T, open Open) {
	place := t.TempDir()
	for n := range 3 {
		d := open(t, place)
		id := fmt.Sprint("s", n)
		s := begin(t, d, id)
		if err := s.Append(t.Context(), newInfo(id), 0, allEvents()); err != nil {
			t.Fatal(err)
		}
		if list, err := s.List(t.Context(), 0); err != nil || len(list) != n+1 {
			t.Errorf("start %d: %d conversations, %v", n, len(list), err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
