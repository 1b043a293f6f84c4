package watchers_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"callgate/internal/condition"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/internal/watch"
	"callgate/tool"
)

// A kernel that was killed after it stored a notice, before or after it told it or began
// what follows: the next one tells it once, and makes the call once.
func TestNoticeOfAKilledKernel(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, p *place, n *watch.Notice){
		"before it told": func(*testing.T, *place, *watch.Notice) {},
		"after it told": func(t *testing.T, p *place, n *watch.Notice) {
			ok(t, p.Tasks.Tell(t.Context(), task.Task{
				ID: n.ID, Parent: p.talk.ID(), Outcome: &task.Outcome{State: task.Done, Summary: n.Text},
			}))
		},
		"after all of it": func(t *testing.T, p *place, n *watch.Notice) { n.Done = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, rules)
			spec, err := watch.Parse(json.RawMessage(`{"name":"demo.gauge","interval":1,"notify_first":true,
				"actions":[{"name":"demo.note","params":{"text":"it is {{result.n}}"}}]}`), time.Now())
			ok(t, err)
			w, err := watch.New("w1", spec, condition.Type{})
			ok(t, err)
			w.Check(watch.Check{At: time.Now(), Result: json.RawMessage(`{"n":1}`)})
			before(t, p, w.Pending)
			input, err := json.Marshal(w.Spec)
			ok(t, err)
			data, err := json.Marshal(w.State)
			ok(t, err)
			_, err = p.Tasks.Start(t.Context(), task.Task{
				ID: "w1", Kind: "watch", Parent: p.talk.ID(), Asker: deferred.AskerOf(p.in(t), tool.Call{ID: "c1"}),
				Input: input, Data: data,
			})
			ok(t, err)
			kerneltest.Eventually(t, func() bool { return p.gauge.checks() >= 2 })
			want := 1
			if name == "after all of it" {
				want = 0
			}
			p.awaitNews(t, want)
			kerneltest.Eventually(t, func() bool { return len(p.gauge.noted()) >= want })
			if notes := p.gauge.noted(); len(notes) != want {
				t.Errorf("%q", notes)
			}
		})
	}
}

// One conversation has at most so many watchers.
func TestTooMany(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	for i := range 100 {
		p.start(t, fmt.Sprintf(`{"name":"demo.gauge","interval":3600,"label":"%d"}`, i))
	}
	if e := refuses(t, p.in(t), "watch_start", `{"name":"demo.gauge"}`); e.Kind != tool.Limited {
		t.Errorf("%v", e)
	}
	list := p.call(t, "watch_list", `{}`)
	id := list["watchers"].([]any)[0].(map[string]any)["watcher_id"]
	p.call(t, "watch_stop", fmt.Sprintf(`{"watcher_id":%q}`, id))
	p.start(t, `{"name":"demo.gauge","interval":3600}`)
}

// A call that is made again after a crash finds the watcher that it started.
func TestStartTwiceIsOnce(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	first := p.startAs(t, "call-1", `{"name":"demo.gauge","interval":3600}`)
	if again := p.startAs(t, "call-1", `{"name":"demo.gauge","interval":3600}`); again != first {
		t.Errorf("%s and %s", first, again)
	}
	if other := p.startAs(t, "call-2", `{"name":"demo.gauge","interval":3600}`); other == first {
		t.Errorf("another call found %s", other)
	}
}
