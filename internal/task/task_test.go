package task_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"callgate/internal/task"
	"callgate/tool"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		task task.Task
		want tool.Kind // "": it may be created
	}{
		"whole":                {task.Task{ID: "a", Kind: "call", Input: json.RawMessage(`{}`), MaxAttempts: 3}, ""},
		"no input":             {task.Task{ID: "a", Kind: "call"}, ""},
		"no ID":                {task.Task{Kind: "call"}, tool.Invalid},
		"no kind":              {task.Task{ID: "a"}, tool.Invalid},
		"input that is none":   {task.Task{ID: "a", Kind: "call", Input: json.RawMessage(`{`)}, tool.Invalid},
		"less than one chance": {task.Task{ID: "a", Kind: "call", MaxAttempts: -1}, tool.Invalid},
	} {
		if err := task.Check(c.task); tool.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckOutcome(t *testing.T) {
	for state, want := range map[task.State]tool.Kind{
		task.Done: "", task.Failed: "", task.Cancelled: "", task.InDoubt: "",
		task.Queued: tool.Invalid, task.Running: tool.Invalid, "": tool.Invalid, "odd": tool.Invalid,
	} {
		if err := task.CheckOutcome("a", task.Outcome{State: state}); tool.KindOf(err) != want {
			t.Errorf("%q: %v", state, err)
		}
	}
	if err := task.CheckOutcome("a", task.Outcome{State: task.Done, Data: json.RawMessage("{")}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("data that is no JSON: %v", err)
	}
}

func TestOwed(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		task task.Task
		want bool
	}{
		"ended":     {task.Task{Parent: "p", State: task.Failed}, true},
		"running":   {task.Task{Parent: "p", State: task.Running}, false},
		"no parent": {task.Task{State: task.Done}, false},
		"told":      {task.Task{Parent: "p", State: task.Done, Times: task.Times{Told: now}}, false},
	} {
		if c.task.Owed() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestExhausted(t *testing.T) {
	o := task.Exhausted(3, "no network")
	if o.State != task.Failed || !strings.Contains(o.Summary, "3 attempts") || !strings.Contains(o.Summary, "no network") {
		t.Errorf("%+v", o)
	}
	if o := task.Exhausted(1, ""); strings.Contains(o.Summary, ";") {
		t.Errorf("%+v", o)
	}
}

// A task belongs to the session that asked for it; when that is gone, to whoever it was.
func TestOwnedBy(t *testing.T) {
	own := tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "s1", Lane: "edge"}
	asker := task.Asker{Principal: own, Workspace: "/w", AppFile: "/w/callgate.yaml", Profile: "review", Token: "t1"}
	change := func(f func(*tool.Principal)) tool.Principal {
		p := own
		p.Session = "s2"
		f(&p)
		return p
	}
	same := change(func(*tool.Principal) {})
	for name, c := range map[string]struct {
		p                  tool.Principal
		workspace, appFile string
		gone, want         bool
	}{
		"itself":                   {own, "/w", "/w/callgate.yaml", false, true},
		"itself elsewhere":         {own, "/x", "", false, true},
		"another session":          {same, "/w", "/w/callgate.yaml", false, false},
		"its next session":         {same, "/w", "/w/callgate.yaml", true, true},
		"in another workspace":     {same, "/x", "/w/callgate.yaml", true, false},
		"under another app file":   {same, "/w", "/x/callgate.yaml", true, false},
		"another user":             {change(func(p *tool.Principal) { p.User = "bob" }), "/w", "/w/callgate.yaml", true, false},
		"another user's session":   {change(func(p *tool.Principal) { p.User, p.Session = "bob", "s1" }), "/w", "", true, false},
		"another app":              {change(func(p *tool.Principal) { p.App = "x" }), "/w", "/w/callgate.yaml", true, false},
		"another agent":            {change(func(p *tool.Principal) { p.Agent = "x" }), "/w", "/w/callgate.yaml", true, false},
		"another lane":             {change(func(p *tool.Principal) { p.Lane = "core" }), "/w", "/w/callgate.yaml", true, false},
		"a caller without session": {change(func(p *tool.Principal) { p.Session = "" }), "/w", "/w/callgate.yaml", false, false},
	} {
		caller := task.Asker{Principal: c.p, Workspace: c.workspace, AppFile: c.appFile, Profile: "review", Token: "t1"}
		if got := asker.OwnedBy(caller, c.gone); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		caller.Token = "t2"
		if got := asker.OwnedBy(caller, c.gone); got != (c.want && !c.gone) {
			t.Errorf("%s, with another token: %v", name, got)
		}
		caller.Profile, caller.Token = "", "t1"
		if got := asker.OwnedBy(caller, c.gone); got != (c.want && !c.gone) {
			t.Errorf("%s, with another profile: %v", name, got)
		}
	}
	if (task.Asker{}).OwnedBy(task.Asker{}, false) {
		t.Error("nobody owns the tasks of nobody")
	}
}
