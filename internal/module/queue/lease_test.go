package queue_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/queue"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// A lease ends by time: the item is given to the next, the old receipt says nothing, and what
// was given too often is dead. A delayed item waits for its time.
func TestLeasesEnd(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tools := map[string]*tool.Tool{}
	for _, one := range queue.Tools(queue.Config{
		Host: module.Host{Documents: db.Stores().Documents}, Now: func() time.Time { return now },
	}) {
		tools[one.ID.Name] = one
	}
	call := func(name, args string) (a answer, err error) {
		t.Helper()
		r, err := tools[name].Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(args)}, tool.Grant{})
		if err == nil {
			err = json.Unmarshal(r.Data, &a)
		}
		return a, err
	}
	must := func(name, args string) answer {
		t.Helper()
		a, err := call(name, args)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	must("push", `{"queue":"q","item":1}`)
	must("push", `{"queue":"q","item":2,"delay":3600}`)
	first := must("pop", `{"queue":"q","lease":60,"count":5}`)
	if len(first.Items) != 1 {
		t.Fatalf("a delayed item is given: %+v", first)
	}
	now = now.Add(59 * time.Second)
	if a := must("pop", `{"queue":"q"}`); len(a.Items) != 0 {
		t.Errorf("an item that somebody has is given: %+v", a)
	}
	now = now.Add(2 * time.Second)
	if _, err := call("ack", `{"queue":"q","receipt":"`+first.Items[0].Receipt+`"}`); tool.KindOf(err) != tool.NotFound {
		t.Errorf("acknowledged after its lease: %v", err)
	}
	for attempt := 2; attempt <= 5; attempt++ {
		if a := must("pop", `{"queue":"q","lease":1}`); len(a.Items) != 1 || a.Items[0].Attempts != attempt {
			t.Fatalf("attempt %d: %+v", attempt, a)
		}
		now = now.Add(2 * time.Second)
	}
	if s := must("stats", `{"queue":"q"}`); s.Dead != 1 || s.Delayed != 1 {
		t.Errorf("%+v", s)
	}
	now = now.Add(time.Hour)
	if a := must("pop", `{"queue":"q"}`); len(a.Items) != 1 || string(a.Items[0].Item) != "2" {
		t.Errorf("after the delay: %+v", a)
	}
	now = now.Add(-24 * time.Hour) // the clock goes back, and the order stays
	must("push", `{"queue":"q","item":3}`)
	if all := must("peek", `{"queue":"q"}`).Items; string(all[2].Item) != "3" {
		t.Errorf("%+v", all)
	}
}
