package kernel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/tool"
)

// queueApp is an app that uses queues, with an ID or without.
func queueApp(id string) string {
	text := "tools:\n  modules:\n    queue: {}\n  capabilities: {default_policy: auto}\n"
	if id != "" {
		text = "app: {app_id: " + id + "}\n" + text
	}
	return text
}

// queued is what the tools of queues answer.
type queued struct {
	IDs   []string `json:"ids"`
	Items []struct {
		Item    json.RawMessage `json:"item"`
		Receipt string          `json:"receipt"`
	} `json:"items"`
	Total, Ready, Leased int
}

func queueCall(t *testing.T, s *session.Session, name, args string) (q queued) {
	t.Helper()
	r := kerneltest.Call(t, s, "queue."+name, args)
	if r.Err() != nil || json.Unmarshal(r.Data, &q) != nil {
		t.Fatalf("queue.%s %s: %s %s", name, args, r.Status, r.Summary)
	}
	return q
}

// items are the values of what was taken or is there.
func (q queued) items() (all string) {
	for _, i := range q.Items {
		all += string(i.Item) + " "
	}
	return all
}

const peekWork = `{"queue":"work"}`

// What an app pushes that is one at all nodes is taken at any of them, in order and by one alone; what another app
// pushes stays at its node, and so does who takes it.
func TestQueuesOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	folder := func(id string) string { return appFolder(t, "queues", queueApp(id)) }
	first, second := folder("jobs"), folder("jobs")
	atA, localA := kerneltest.OpenAccepted(t, a, first), kerneltest.OpenAccepted(t, a, folder(""))
	atB, localB := kerneltest.OpenAccepted(t, b, second), kerneltest.OpenAccepted(t, b, folder(""))
	queueCall(t, atA, "push", `{"queue":"work","item":1}`)
	queueCall(t, localA, "push", `{"queue":"work","item":2}`)
	queueCall(t, atB, "push", `{"queue":"work","item":3}`)
	queueCall(t, localB, "push", `{"queue":"work","item":4}`)
	for name, c := range map[string]struct {
		s    *session.Session
		want string
	}{
		"the app at a": {atA, "1 2 3 "}, "another at a": {localA, "1 2 "},
		"the app at b": {atB, "1 3 4 "}, "another at b": {localB, "3 4 "},
	} {
		if got := queueCall(t, c.s, "peek", peekWork).items(); got != c.want {
			t.Errorf("%s sees %q, want %q", name, got, c.want)
		}
	}
	taken := queueCall(t, atB, "pop", `{"queue":"work","count":2}`)
	if got := taken.items(); got != "1 3 " {
		t.Errorf("at b are taken %q", got)
	}
	if got := queueCall(t, atA, "pop", `{"queue":"work","count":9}`).items(); got != "2 " {
		t.Errorf("at a are taken %q while the others are held at b", got)
	}
	// Who has the receipt says it at any node, once.
	ack := fmt.Sprintf(`{"queue":"work","receipt":%q}`, taken.Items[0].Receipt)
	queueCall(t, atA, "ack", ack)
	if r := kerneltest.Call(t, atB, "queue.ack", ack); tool.KindOf(r.Err()) != tool.NotFound {
		t.Errorf("the receipt counts twice: %s", r.Summary)
	}
	queueCall(t, atB, "ack", fmt.Sprintf(`{"queue":"work","receipt":%q,"done":false}`, taken.Items[1].Receipt))
	if got := queueCall(t, atA, "pop", peekWork).items(); got != "3 " {
		t.Errorf("what was given back at b is taken at a: %q", got)
	}
	// A lease that ends is over at all nodes.
	queueCall(t, atA, "push", `{"queue":"short","item":5}`)
	queueCall(t, atA, "pop", `{"queue":"short","lease":1}`)
	if got := queueCall(t, atB, "pop", `{"queue":"short"}`).items(); got != "" {
		t.Errorf("%q is given twice", got)
	}
	until(t, "the end of the lease at the other node", func() bool {
		return queueCall(t, atB, "pop", `{"queue":"short"}`).items() == "5 "
	})
}

// Many who push and take at two nodes: each item is given once, and none is lost.
func TestManyTakeAtTwoNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	first, second := appFolder(t, "one", queueApp("jobs")), appFolder(t, "two", queueApp("jobs"))
	const each = 12
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	kerneltest.OpenAccepted(t, a, first).Close() // it has the ID
	for i, c := range []struct {
		k      *kernel.Kernel
		folder string
	}{{a, first}, {b, second}, {a, first}, {b, second}} {
		s := kerneltest.OpenAccepted(t, c.k, c.folder)
		wg.Go(func() {
			for n := range each {
				r := kerneltest.Call(t, s, "queue.push", fmt.Sprintf(`{"queue":"work","item":%d}`, 100*i+n))
				if r.Err() != nil {
					t.Error(r.Err())
				}
				r = kerneltest.Call(t, s, "queue.pop", `{"queue":"work","count":1}`)
				var q queued
				if r.Err() != nil || json.Unmarshal(r.Data, &q) != nil {
					t.Error(r.Summary)
				}
				mu.Lock()
				for _, item := range q.Items {
					got[string(item.Item)]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for item, n := range got {
		if n != 1 {
			t.Errorf("%s was given %d times", item, n)
		}
	}
	if len(got) != 4*each {
		t.Errorf("%d of %d were given", len(got), 4*each)
	}
}

// What is queued goes with a kernel to the database and back.
func TestMigratedQueues(t *testing.T) {
	t.Parallel()
	state, folder := kerneltest.StateDir(t), appFolder(t, "mine", queueApp("jobs"))
	alone := kerneltest.Open(t, state)
	queueCall(t, kerneltest.OpenAccepted(t, alone, folder), "push", `{"queue":"work","item":1}`)
	ok(t, alone.Close())
	migration := moving.Migration{State: statedir.Dir(state), To: kerneltest.Postgres.URL(t)}
	_, err := migration.Run(t.Context())
	ok(t, err)
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, folder)
	queueCall(t, s, "push", `{"queue":"work","item":2}`)
	if got := queueCall(t, s, "pop", `{"queue":"work","lease":3600}`).items(); got != "1 " {
		t.Errorf("in the database is taken %q", got)
	}
	ok(t, k.Close())
	_, err = migration.Back(t.Context())
	ok(t, err)
	alone = kerneltest.Open(t, state)
	s = kerneltest.OpenSession(t, alone, folder)
	queueCall(t, s, "push", `{"queue":"work","item":3}`)
	if got := queueCall(t, s, "pop", `{"queue":"work","count":9}`).items(); got != "2 3 " {
		t.Errorf("back in SQLite is taken %q", got)
	}
}

// A call about a queue waits for one at another node.
func TestQueueIsLockedAtAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	began, free := make(chan bool), make(chan bool)
	hold, err := tool.Func("demo.hold", "A tool of the test.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "queue:work", Mode: tool.U}},
	}, func(context.Context, struct{}) (any, error) {
		began <- true
		<-free
		return map[string]any{"done": true}, nil
	})
	ok(t, err)
	a, b := openNode(t, url, node.Timing{}, hold), openNode(t, url, node.Timing{})
	holds, pushes := kerneltest.OpenSession(t, a, t.TempDir()), kerneltest.OpenAccepted(t, b, appFolder(t, "q", queueApp("jobs")))
	done := make(chan *tool.Result, 2)
	go func() { done <- kerneltest.Call(t, holds, "demo.hold", `{}`) }()
	<-began
	go func() { done <- kerneltest.Call(t, pushes, "queue.push", `{"queue":"work","item":1}`) }()
	until(t, "a call that holds the lock of its own node", func() bool { return len(b.Locks.Snapshot().Held) == 1 })
	select {
	case r := <-done:
		t.Errorf("it did not wait: %s", r.Summary)
	case <-time.After(50 * time.Millisecond):
	}
	free <- true
	for range 2 {
		if r := <-done; r.Status != tool.Success {
			t.Errorf("a call: %s", r.Summary)
		}
	}
}
