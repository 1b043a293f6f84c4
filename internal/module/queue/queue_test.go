package queue_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

const appText = "app: {app_id: %s}\ntools:\n  modules:\n    queue: {constraints: {%s}}\n" +
	"  capabilities: {default_policy: auto}\n"

// world is two apps at one kernel.
type world struct {
	testing.TB
	one, two *session.Session
}

func newWorld(t *testing.T, state, constraints string) *world {
	t.Helper()
	k := kerneltest.Open(t, state)
	w := &world{TB: t}
	for name, s := range map[string]**session.Session{"one": &w.one, "two": &w.two} {
		folder := t.TempDir()
		kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(appText, name, constraints))
		*s = kerneltest.OpenAccepted(t, k, folder)
	}
	return w
}

type answer struct {
	IDs   []string `json:"ids"`
	Items []struct {
		ID       string          `json:"id"`
		Item     json.RawMessage `json:"item"`
		By       string          `json:"by"`
		Attempts int             `json:"attempts"`
		State    string          `json:"state"`
		Receipt  string          `json:"receipt"`
	} `json:"items"`
	Ready, Leased, Dead, Delayed int
}

func (w *world) does(s *session.Session, name, args string) (a answer) {
	w.Helper()
	r := kerneltest.Call(w, s, "queue."+name, args)
	if r.Status != tool.Success || json.Unmarshal(r.Data, &a) != nil {
		w.Fatalf("%s: %s %s", name, r.Status, r.Summary)
	}
	return a
}

func (w *world) refused(s *session.Session, name, args, why string) {
	w.Helper()
	if r := kerneltest.Call(w, s, "queue."+name, args); r.Status == tool.Success || !strings.Contains(r.Summary, why) {
		w.Errorf("%s: %s %s, want %q", name, r.Status, r.Summary, why)
	}
}

// One app pushes and another takes, in order; what is acknowledged is gone, what is given
// back is there again, and the receipt of another lease says nothing.
func TestBetweenApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kerneltest.StateDir(t), "")
	for _, item := range []string{`1`, `{"two": 2}`, `"three"`} {
		w.does(w.one, "push", `{"queue":"work","item":`+item+`}`)
	}
	got := w.does(w.two, "pop", `{"queue":"work","count":2}`)
	if len(got.Items) != 2 || string(got.Items[0].Item) != "1" || got.Items[0].By != "one" || got.Items[1].Attempts != 1 {
		t.Fatalf("taken: %+v", got)
	}
	if s := w.does(w.two, "stats", `{"queue":"work"}`); s.Ready != 1 || s.Leased != 2 {
		t.Errorf("%+v", s)
	}
	for _, i := range w.does(w.one, "peek", `{"queue":"work"}`).Items {
		if i.Receipt != "" {
			t.Error("a receipt is shown to who has not taken the item")
		}
	}
	w.does(w.two, "ack", `{"queue":"work","receipt":"`+got.Items[0].Receipt+`"}`)
	w.refused(w.two, "ack", `{"queue":"work","receipt":"`+got.Items[0].Receipt+`"}`, "no item of work is held")
	w.does(w.two, "ack", `{"queue":"work","done":false,"receipt":"`+got.Items[1].Receipt+`"}`)
	again := w.does(w.one, "pop", `{"queue":"work"}`)
	if len(again.Items) != 1 || again.Items[0].ID != got.Items[1].ID || again.Items[0].Attempts != 2 {
		t.Errorf("given back: %+v", again)
	}
	if d := w.does(w.one, "delete", `{"queue":"work","all":true}`); len(d.IDs) != 2 {
		t.Errorf("deleted: %+v", d)
	}
	if left := w.does(w.one, "pop", `{"queue":"work"}`); len(left.Items) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// Nobody is given what another has, whoever asks at once.
func TestEachItemIsGivenToOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kerneltest.StateDir(t), "")
	const many = 12
	for i := range many {
		w.does(w.one, "push", fmt.Sprintf(`{"queue":"work","item":%d}`, i))
	}
	var group sync.WaitGroup
	taken := make(chan string, 2*many)
	for _, s := range []*session.Session{w.one, w.two} {
		group.Go(func() {
			for range many / 2 {
				for _, i := range w.does(s, "pop", `{"queue":"work"}`).Items {
					taken <- i.ID
				}
			}
		})
	}
	group.Wait()
	close(taken)
	seen := map[string]bool{}
	for id := range taken {
		if seen[id] {
			t.Errorf("%s was given twice", id)
		}
		seen[id] = true
	}
	if len(seen) != many {
		t.Errorf("%d of %d were given", len(seen), many)
	}
}

// A queue outlives its kernel, with its leases.
func TestSurvivesTheKernel(t *testing.T) {
	t.Parallel()
	state := kerneltest.StateDir(t)
	k, folder := kerneltest.Open(t, state), t.TempDir()
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), fmt.Sprintf(appText, "one", ""))
	w := &world{TB: t, one: kerneltest.OpenAccepted(t, k, folder)}
	w.does(w.one, "push", `{"queue":"work","item":1}`)
	w.does(w.one, "push", `{"queue":"work","item":2}`)
	held := w.does(w.one, "pop", `{"queue":"work"}`).Items[0]
	kerneltest.OK(t, k.Close())
	w.one = kerneltest.OpenAccepted(t, kerneltest.Open(t, state), folder)
	if next := w.does(w.one, "pop", `{"queue":"work"}`); len(next.Items) != 1 || string(next.Items[0].Item) != "2" {
		t.Errorf("after it: %+v", next)
	}
	w.does(w.one, "ack", `{"queue":"work","receipt":"`+held.Receipt+`"}`)
}

// Queues and items are bounded, and an app uses the queues that it may.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kerneltest.StateDir(t), `queues: ["a*"], max_items: 1, max_item_bytes: 10`)
	w.refused(w.one, "push", `{"queue":"b","item":1}`, "may not use the queue b")
	w.refused(w.one, "push", `{"queue":"a","item":"0123456789"}`, "10 bytes are the most")
	w.refused(w.one, "push", `{"queue":"../a","item":1}`, "queue")
	w.does(w.one, "push", `{"queue":"a1","item":1}`)
	w.refused(w.one, "push", `{"queue":"a1","item":2}`, "1 are the most")
	w.refused(w.one, "delete", `{"queue":"a1"}`, "say which items")
}

// The queues of a kernel are bounded together, and room that was made is found.
func TestQueuesHaveRoomTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kerneltest.StateDir(t), "")
	for n := range 200 {
		w.does(w.one, "push", fmt.Sprintf(`{"queue": "q%d", "item": 1}`, n))
	}
	if r := kerneltest.Call(t, w.two, "queue.push", `{"queue": "another", "item": 1}`); r.Status == tool.Success ||
		!strings.Contains(r.Summary, "200 queues") {
		t.Errorf("one more queue: %s", r.Summary)
	}
	w.does(w.two, "push", `{"queue": "q7", "item": 2}`)
	w.does(w.one, "ack", `{"queue": "q9", "receipt": "`+w.does(w.one, "pop", `{"queue": "q9"}`).Items[0].Receipt+`"}`)
	w.does(w.two, "push", `{"queue": "another", "item": 1}`)
}

// A pop takes what a result can show, and in order.
func TestPopTakesWhatFits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kerneltest.StateDir(t), "")
	large := strings.Repeat("x", 20<<10)
	for _, item := range []string{large, large, "small"} {
		w.does(w.one, "push", `{"queue": "q", "item": "`+item+`"}`)
	}
	for n, want := range []int{1, 2, 0} {
		if got := w.does(w.two, "pop", `{"queue": "q", "count": 100}`).Items; len(got) != want {
			t.Errorf("pop %d gives %d items, not %d", n, len(got), want)
		}
	}
}
