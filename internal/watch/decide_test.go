package watch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/condition"
	"callgate/internal/watch"
	"callgate/tool"
)

func newWatcher(t *testing.T, args string) *watch.Watcher {
	t.Helper()
	s, err := watch.Parse(json.RawMessage(args), now)
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch.New("w1", s, condition.Type{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// checkOf is a check from a test's shorthand: JSON, or "!" and an error.
func checkOf(n int, gave string) watch.Check {
	c := watch.Check{At: now.Add(time.Duration(n) * time.Minute), Took: 2 * time.Millisecond}
	if text, failed := strings.CutPrefix(gave, "!"); failed {
		c.Error = tool.Errorf("t", tool.Failed, "%s", text)
	} else {
		c.Result = json.RawMessage(gave)
	}
	return c
}

// Each check is told or not, by the strategy: "+" is told, "." is not.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct{ args, checks, want string }{
		"on_change":                  {`{"name":"a"}`, `1 1 2 2 1`, `..+.+`},
		"on_change, order of fields": {`{"name":"a"}`, `{"a":1,"b":2} {"b":2,"a":1} {"b":2,"a":3}`, `..+`},
		"on_change, first":           {`{"name":"a","notify_first":true}`, `1 1 2`, `+.+`},
		"on_change, errors":          {`{"name":"a"}`, `1 !x !x !y 1 1`, `.+.++.`},
		"on_change, failing first":   {`{"name":"a"}`, `!x !x 1`, `..+`},
		"on_error":                   {`{"name":"a","notify_when":"on_error"}`, `1 2 !x !x !y 1 1 !x`, `..+..+.+`},
		"on_error, failing first":    {`{"name":"a","notify_when":"on_error"}`, `!x !x 1`, `+.+`},
		"on_error, first":            {`{"name":"a","notify_when":"on_error","notify_first":true}`, `1 1 !x`, `+.+`},
		"every_check":                {`{"name":"a","notify_when":"every_check"}`, `1 1 !x`, `+++`},
		"condition":                  {`{"name":"a","expression":"result > 5"}`, `1 6 7 2 9`, `.+..+`},
		"condition, true first":      {`{"name":"a","expression":"result > 5"}`, `6 6`, `+.`},
		"condition, repeat":          {`{"name":"a","expression":"result > 5","notify_when":"on_condition","notify_config":{"repeat":true}}`, `1 6 7 2`, `.++.`},
		"condition, previous":        {`{"name":"a","expression":"previous != null and result - previous >= 5"}`, `1 3 9 10 20`, `..+.+`},
		"condition, over a failure":  {`{"name":"a","expression":"result > 5"}`, `6 !x 7`, `+..`},
		"condition about errors":     {`{"name":"a","expression":"error != null"}`, `1 !x !x 1 !x`, `.+..+`},
		"condition, undecided":       {`{"name":"a","expression":"result.n > 5"}`, `{} {} {"n":1} {} {"n":6}`, `+..++`},
		"condition, five failures":   {`{"name":"a","expression":"result > 5"}`, `!x !x !x !x !x !x 1`, `....+..`},
		"condition, number of check": {`{"name":"a","expression":"check.number >= 2 and check.changed"}`, `1 1 2 2`, `..+.`},
		"summary":                    {`{"name":"a","notify_when":"summary","notify_config":{"batch_size":3}}`, `1 1 2 3 !x`, `..+..`},
	} {
		w := newWatcher(t, c.args)
		got := ""
		for i, gave := range strings.Fields(c.checks) {
			if w.Check(checkOf(i, gave)) {
				got += "+"
			} else {
				got += "."
			}
			// A watcher that goes on after a restart decides the same.
			data, err := json.Marshal(w.State)
			if err != nil {
				t.Fatal(err)
			}
			var state watch.State
			if err := json.Unmarshal(data, &state); err != nil {
				t.Fatal(err)
			}
			if w, err = watch.Restore("w1", w.Spec, state, condition.Type{}); err != nil {
				t.Fatal(err)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s of %s is told, and not %s", name, c.checks, got, c.want)
		}
	}
}

func TestNotice(t *testing.T) {
	w := newWatcher(t, `{"name":"fs.read","label":"the\nlog","notify_when":"every_check",
		"actions":[{"name":"fs.write","params":{"text":"{{result.n}} of {{watcher.label}}: {{check.why}}","n":"{{result.n}}"}},
			{"name":"x","params":{"v":"{{result.n / 0}}"}},{"name":"y"}]}`)
	w.Check(checkOf(1, `{"n":5}`))
	w.Check(checkOf(2, `{"n":7}`))
	n := w.Pending
	if n == nil || n.ID != "w1-n2" || n.Check != 2 {
		t.Fatalf("%+v", n)
	}
	for _, part := range []string{"WATCHER UPDATE: each check is told", "watcher_id: w1", "tool: fs.read", "label: the log",
		"check_number: 2", "notify_count: 2", `{"n":7}`, "strategy: every_check"} {
		if !strings.Contains(n.Text, part) {
			t.Errorf("%q is not in\n%s", part, n.Text)
		}
	}
	if a := n.Actions[0]; a.ID != "w1-n2-a1" || string(a.Params) != `{"n":7,"text":"7 of the\nlog: each check is told"}` {
		t.Errorf("%+v: %s", a, a.Params)
	}
	if a := n.Actions[1]; !strings.Contains(a.Error, "divided") {
		t.Errorf("%+v", a)
	}
	if a := n.Actions[2]; a.Tool != "y" || a.Params != nil || a.Error != "" {
		t.Errorf("%+v", a)
	}
	w.Check(checkOf(3, `"`+strings.Repeat("ä", 5000)+`"`))
	if text := w.Pending.Text; !strings.Contains(text, "(5000 characters in all)") || len([]rune(text)) > 2500 {
		t.Errorf("%d characters: %s", len([]rune(text)), tool.TruncateTo(text, 300))
	}
}

func TestSummaryNotice(t *testing.T) {
	w := newWatcher(t, `{"name":"a","notify_when":"summary","notify_config":{"batch_size":3},"max_checks":5}`)
	for i, gave := range []string{"1", "1", "!broken", "4", "5"} {
		w.Check(checkOf(i, gave))
		if i == 2 && (!strings.Contains(w.Pending.Text, "- check 2 at 2030-01-02T03:05:05Z: 1\n") ||
			!strings.Contains(w.Pending.Text, "failed: broken")) {
			t.Errorf("%s", w.Pending.Text)
		}
	}
	if text := w.EndText(); w.Status != watch.Completed || !strings.Contains(text, "WATCHER COMPLETED: its 5 checks are made") ||
		!strings.Contains(text, "- check 4") || !strings.Contains(text, "- check 5") || strings.Contains(text, "- check 3") {
		t.Errorf("%s: %s", w.Status, text)
	}
}

// A watcher of one check still says what it found.
func TestOneCheck(t *testing.T) {
	w := newWatcher(t, `{"name":"a","max_checks":1}`)
	w.Check(checkOf(1, `"found"`))
	if text := w.EndText(); w.Status != watch.Completed || !strings.Contains(text, "found") {
		t.Errorf("%s: %s", w.Status, text)
	}
}

func TestRefused(t *testing.T) {
	w := newWatcher(t, `{"name":"a"}`)
	w.Check(checkOf(1, "1"))
	told := w.Check(watch.Check{At: now, Error: tool.Errorf("gate", tool.Denied, "rules say no"), Refused: true})
	if text := w.EndText(); told || w.Status != watch.Failed || !strings.Contains(text, "WATCHER FAILED: its call is not allowed any more") ||
		!strings.Contains(text, "rules say no") {
		t.Errorf("%v %s: %s", told, w.Status, text)
	}
}

func TestHistory(t *testing.T) {
	w := newWatcher(t, `{"name":"a"}`)
	for i := range 250 {
		w.Check(checkOf(i, fmt.Sprint(i/60)))
	}
	if len(w.History) != watch.MaxHistory {
		t.Fatalf("%d are kept", len(w.History))
	}
	all := w.Entries(1000)
	for i, e := range all {
		if e.Number != 151+i || e.Result != fmt.Sprint((e.Number-1)/60) || e.Notified != (e.Number == 181 || e.Number == 241) {
			t.Fatalf("entry %d: %+v", i, e)
		}
	}
	if last := w.Entries(2); len(last) != 2 || last[1].Number != 250 || last[0].Result != "4" {
		t.Errorf("%+v", last)
	}
	data, err := json.Marshal(w.State)
	if err != nil || len(data) > 12_000 {
		t.Errorf("%d bytes are stored, %v", len(data), err)
	}
}

func TestPauseAndResume(t *testing.T) {
	w := newWatcher(t, `{"name":"a"}`)
	if err := w.Resume(); tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "is running") {
		t.Errorf("%v", err)
	}
	if err := w.Pause(); err != nil || w.Status != watch.Paused {
		t.Errorf("%v", err)
	}
	if err := w.Pause(); tool.KindOf(err) != tool.Conflict {
		t.Errorf("%v", err)
	}
	if err := w.Resume(); err != nil || w.Status != watch.Running {
		t.Errorf("%v", err)
	}
}

func TestViews(t *testing.T) {
	w := newWatcher(t, `{"name":"a","params":{"p":1},"max_checks":9,"notify_first":true}`)
	for i, gave := range []string{"1", "2", "!no", "!no", "3", "3"} {
		w.Check(checkOf(i, gave))
	}
	d := w.Detail(now, watch.LastEntries)
	if d.Checks != 6 || d.Notices != 4 || d.Metrics.Changes != 3 || d.Metrics.Failures != 2 || d.Metrics.AverageMS != 2 ||
		len(d.History) != 5 || d.LastResult != "3" || d.LastError != nil || d.LastNotice == "" {
		t.Errorf("%+v", d)
	}
	data, err := json.Marshal(w.Overview(now))
	const want = `{"watcher_id":"w1","tool_name":"a","label":"","status":"running","interval":30,"notify_when":"on_change",` +
		`"max_checks":9,"check_count":6,"notify_count":4,"last_check_at":"2030-01-02T03:09:05Z","last_error":null,` +
		`"created_at":"2030-01-02T03:04:05Z"}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}
