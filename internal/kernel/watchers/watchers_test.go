package watchers_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/task"
	"callgate/tool"
)

// A change is told to the conversation that watches, once.
func TestChangeIsTold(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"demo.gauge","interval":1,"label":"the gauge"}`)
	kerneltest.Eventually(t, func() bool { return p.gauge.checks() >= 3 })
	if told := p.news(t); len(told) > 0 {
		t.Fatalf("told without a change: %q", told)
	}
	p.gauge.set(7, nil)
	news := p.awaitNews(t, 1)
	contains(t, news[0], "WATCHER UPDATE: the result changed", "watcher_id: "+id, "label: the gauge", `{"n":7}`, "check_number: ")
	had := p.gauge.checks()
	kerneltest.Eventually(t, func() bool { return p.gauge.checks() >= had+2 })
	p.awaitNews(t, 1)
}

// The model reads what its watcher found with its next request, once.
func TestModelIsTold(t *testing.T) {
	t.Parallel()
	g, model := &gauge{value: 1}, kerneltest.NewModel(t)
	p := &place{Kernel: kerneltest.Open(t, kerneltest.StateDir(t), g.tools(t)...), gauge: g}
	p.folder = inFolder(t, "runtime: {watchers: true}\nagents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n"+
		"tools:\n  capabilities: {default_policy: auto}\n")
	p.talk = kerneltest.OpenConversation(t, p.Kernel, p.folder)
	model.Play(
		kerneltest.Answer{Calls: []string{`watch_start {"name":"demo.gauge","interval":1,"label":"tank"}`}},
		kerneltest.Answer{Text: "I watch it."},
		kerneltest.Answer{Text: "It is at 7."},
		kerneltest.Answer{Text: "Still."},
	)
	kerneltest.Send(t, p.talk, "watch the tank")
	g.set(7, nil)
	p.awaitNews(t, 1)
	kerneltest.Send(t, p.talk, "and?")
	contains(t, model.Last(), "WATCHER UPDATE: the result changed", "label: tank")
	kerneltest.Send(t, p.talk, "and now?")
	if n := strings.Count(model.Last(), "WATCHER UPDATE: the result changed"); n != 1 {
		t.Errorf("told %d times", n)
	}
	p.awaitNews(t, 0)
}

// What is wrong is refused when it is asked for, and starts nothing.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	p := open(t, strings.Replace(rules, "default_policy: auto",
		"default_policy: auto, approve: [{module: demo, actions: [note]}], deny: [{module: shell, reason: no shell here}]", 1))
	for args, c := range map[string]struct {
		kind tool.Kind
		says string
	}{
		`{"name":"demo.note","params":{"text":"x"}}`:                                     {tool.Denied, "needs a human's approval"},
		`{"name":"shell.bash","params":{"command":"ls"}}`:                                {tool.Denied, "no shell here"},
		`{"name":"demo.guage"}`:                                                          {tool.NotFound, "demo.gauge"},
		`{"name":"watch_list"}`:                                                          {tool.Invalid, "kernel's own tools"},
		`{"name":"filesystem.read"}`:                                                     {tool.Invalid, "path"},
		`{"name":"filesystem.read","params":{"path":"../../etc/passwd"}}`:                {"", "workspace"},
		`{"name":"demo.gauge","interval":0.2}`:                                           {tool.Invalid, "interval"},
		`{"name":"demo.gauge","notify_when":"on_threshold"}`:                             {tool.Invalid, "needs notify_config.expression"},
		`{"name":"demo.gauge","notify_config":{"expression":"result.n >"}}`:              {tool.Invalid, "the expression is wrong at character"},
		`{"name":"demo.gauge","notify_config":{"expression":"resutl.n > 5"}}`:            {tool.Invalid, "did you mean result"},
		`{"name":"demo.gauge","notify_when":"summary","notify_config":{"batch_size":0}}`: {tool.Invalid, "batch_size"},
		`{"name":"demo.gauge","actions":[{"name":"demo.nothing"}]}`:                      {tool.NotFound, "demo.nothing"},
		`{"name":"demo.gauge","actions":[{"name":"watch_start"}]}`:                       {tool.Invalid, "cannot follow"},
		`{"name":"journal","params":{"what":"all"}}`:                                     {tool.Invalid, "tool and status"},
		`{"name":"journal","notify_config":{"expression":"result.count == done"}}`:       {tool.Invalid, "cannot compare"},
	} {
		e := refuses(t, p.in(t), "watch_start", args)
		if c.kind != "" && e.Kind != c.kind || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%s: %s %v", args, e.Kind, e)
		}
	}
	list, err := p.Tasks.Store().List(t.Context(), task.Query{Kinds: []string{"watch"}})
	ok(t, err)
	if len(list) > 0 {
		t.Errorf("%d watchers were started", len(list))
	}
	pending, err := p.Approvals.List(t.Context(), "pending", 0)
	ok(t, err)
	if len(pending) > 0 {
		t.Errorf("a human is asked about %v", pending)
	}
}

// Watchers are of apps that turn them on.
func TestShownWhereTheAppSaysSo(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for app, want := range map[string]bool{rules: true, strings.Replace(rules, "watchers: true", "watchers: false", 1): false} {
		s := kerneltest.OpenAccepted(t, k, inFolder(t, app))
		plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: "direct"})
		ok(t, err)
		shown := 0
		for _, e := range plan.Shown {
			if strings.HasPrefix(e.Name, "watch_") {
				shown++
			}
		}
		if shown != map[bool]int{true: 7, false: 0}[want] {
			t.Errorf("%d tools of watchers are shown where the app says %v", shown, want)
		}
		if !want {
			if e := refuses(t, s, "watch_list", `{}`); e.Kind != tool.Denied || !strings.Contains(e.Error(), "watchers: true") {
				t.Errorf("%v", e)
			}
		}
	}
}

func TestPauseResumeStatusHistoryStop(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"demo.gauge","interval":1,"notify_when":"on_error"}`)
	other := p.start(t, `{"name":"demo.gauge","interval":3600,"max_checks":1}`)
	one := fmt.Sprintf(`{"watcher_id":%q}`, id)
	running(t, p.Kernel, 1)
	kerneltest.Eventually(t, func() bool { return p.gauge.checks() >= 4 })
	if o := p.call(t, "watch_pause", one); o["status"] != "paused" {
		t.Errorf("%v", o)
	}
	if e := refuses(t, p.in(t), "watch_pause", one); e.Kind != tool.Conflict || !strings.Contains(e.Error(), "is paused") {
		t.Errorf("%v", e)
	}
	list := p.call(t, "watch_list", `{}`)
	if list["total"] != 2.0 || list["paused"] != 1.0 || list["running"] != 0.0 {
		t.Errorf("%v", list)
	}
	if first := list["watchers"].([]any)[0].(map[string]any); first["watcher_id"] != id {
		t.Errorf("the first of the list is %v", first)
	}
	p.gauge.set(1, errors.New("out of order"))
	if o := p.call(t, "watch_resume", one); o["status"] != "running" {
		t.Errorf("%v", o)
	}
	p.awaitNews(t, 2) // and the end of the other, which made its one check
	status := p.call(t, "watch_status", one)
	contains(t, fmt.Sprint(status["last_error"]), "out of order")
	if m := status["metrics"].(map[string]any); m["failures"].(float64) < 1 || m["notices"] != 1.0 || status["push"] != nil {
		t.Errorf("%v", status)
	}
	kept := p.call(t, "watch_history", fmt.Sprintf(`{"watcher_id":%q,"last_n":2}`, id))["history"].([]any)
	if last := kept[len(kept)-1].(map[string]any); len(kept) != 2 || !strings.Contains(fmt.Sprint(last["error"]), "out of order") {
		t.Errorf("%v", kept)
	}
	if e := refuses(t, p.in(t), "watch_history", fmt.Sprintf(`{"watcher_id":%q,"last_n":101}`, id)); e.Kind != tool.Invalid {
		t.Errorf("%v", e)
	}
	if o := p.call(t, "watch_stop", one); o["status"] != "stopped" {
		t.Errorf("%v", o)
	}
	had := p.gauge.checks()
	if list := p.call(t, "watch_list", `{}`); list["total"] != 1.0 {
		t.Errorf("%v", list)
	}
	if e := refuses(t, p.in(t), "watch_resume", one); e.Kind != tool.Conflict || !strings.Contains(e.Error(), "is stopped") {
		t.Errorf("%v", e)
	}
	if d := p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, other)); d["status"] != "completed" || d["check_count"] != 1.0 {
		t.Errorf("%v", d)
	}
	p.awaitNews(t, 2) // who stops it is not told that it stopped
	if p.gauge.checks() > had+1 {
		t.Errorf("it is checked after its end")
	}
	entries, err := p.Tasks.Logs().Entries(t.Context(), id, 0)
	ok(t, err)
	text := ""
	for _, e := range entries {
		text += e.Text + "\n"
	}
	contains(t, text, "watch_pause", "watch_resume", "checks fail now", "stopped after")
}

// A kernel that comes after another goes on with its watchers, as the same asker, and
// tells nothing twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	g := &gauge{value: 1}
	state, folder := kerneltest.StateDir(t), inFolder(t, rules)
	p := &place{Kernel: kerneltest.Open(t, state, g.tools(t)...), gauge: g, folder: folder}
	p.talk = kerneltest.OpenConversation(t, p.Kernel, folder)
	talk := p.talk.ID()
	id := p.start(t, `{"name":"demo.gauge","interval":1}`)
	paused := p.start(t, `{"name":"demo.gauge","interval":1}`)
	p.call(t, "watch_pause", fmt.Sprintf(`{"watcher_id":%q}`, paused))
	g.set(2, nil)
	p.awaitNews(t, 1)
	checks := p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, id))["check_count"].(float64)
	ok(t, p.Close())

	g.set(3, nil) // while no kernel runs
	p.Kernel = kerneltest.Open(t, state, g.tools(t)...)
	running(t, p.Kernel, 2)
	p.awaitNews(t, 2)
	records, err := p.Tasks.Store().Get(t.Context(), id)
	ok(t, err)
	if records.Asker.Principal.Session != talk || records.Parent != talk {
		t.Errorf("%+v", records.Asker)
	}
	p.talk = kerneltest.Resume(t, p.Kernel, talk)
	status := p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, id))
	if status["check_count"].(float64) < checks || status["notify_count"] != 2.0 {
		t.Errorf("%v", status)
	}
	if status := p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, paused)); status["status"] != "paused" {
		t.Errorf("%v", status)
	}
	had := g.checks()
	kerneltest.Eventually(t, func() bool { return g.checks() >= had+2 })
	p.awaitNews(t, 2)
}

// Each check is judged by the rules of its time.
func TestRulesOfNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ app, says string }{
		"denied by now":           {strings.Replace(rules, "default_policy: auto", "default_policy: auto, deny: [{module: demo, reason: closed}]", 1), "closed"},
		"to be approved by now":   {strings.Replace(rules, "default_policy: auto", "default_policy: auto, approve: [{module: demo}]", 1), "needs a human's approval"},
		"watchers are turned off": {strings.Replace(rules, "watchers: true", "watchers: false", 1), "has no watchers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, rules)
			id := p.start(t, `{"name":"demo.gauge","interval":1,"notify_when":"on_error"}`)
			had := p.gauge.checks()
			write(t, filepath.Join(p.folder, "callgate.yaml"), c.app)
			news := p.awaitNews(t, 1)
			contains(t, news[0], "WATCHER FAILED: its call is not allowed any more", c.says, id)
			made, err := p.Tasks.Store().Get(t.Context(), id)
			ok(t, err)
			if made.State != task.Failed || p.gauge.checks() > had+1 {
				t.Errorf("%s, %d checks", made.State, p.gauge.checks()-had)
			}
		})
	}
}

// Another conversation does not know of a watcher, whatever it asks.
func TestOwnership(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"demo.gauge","interval":60}`)
	one := fmt.Sprintf(`{"watcher_id":%q}`, id)
	second := kerneltest.OpenConversationWith(t, p.Kernel, conversation.Spec{Workspace: p.folder})
	other, err := p.Sessions.Get(second.ID())
	ok(t, err)
	strangers := map[string]*session.Session{
		"another conversation": other, "a session in the same folder": kerneltest.OpenAccepted(t, p.Kernel, p.folder),
		"a session elsewhere": kerneltest.OpenAccepted(t, p.Kernel, inFolder(t, rules)),
	}
	look := func(when string) {
		for who, s := range strangers {
			for _, name := range []string{"watch_stop", "watch_pause", "watch_resume", "watch_status", "watch_history"} {
				e := refuses(t, s, name, one)
				missing := refuses(t, s, name, `{"watcher_id":"000000000000"}`)
				if e.Kind != tool.NotFound || strings.ReplaceAll(e.Error(), id, "000000000000") != missing.Error() {
					t.Errorf("%s, %s, %s: %v", when, who, name, e)
				}
			}
			if list := success(t, s, "watch_list", `{}`); list["total"] != 0.0 {
				t.Errorf("%s, %s sees %v", when, who, list)
			}
		}
	}
	look("while the conversation is open")
	p.talk.Close()
	look("when the conversation is closed")
	made, err := p.Tasks.Store().Get(t.Context(), id)
	ok(t, err)
	if made.State.Final() {
		t.Errorf("the watcher is %s", made.State)
	}
	// Any other task is no watcher.
	for _, name := range []string{"watch_status", "watch_stop"} {
		ok(t, p.Tasks.Tell(t.Context(), task.Task{
			ID: "news", Parent: second.ID(), Asker: task.Asker{Principal: other.Principal()},
			Outcome: &task.Outcome{State: task.Done, Summary: "x"},
		}))
		if e := refuses(t, other, name, `{"watcher_id":"news"}`); e.Kind != tool.NotFound {
			t.Errorf("%v", e)
		}
	}
}

// The watchers of a client without a conversation are its owner's when it has gone.
func TestClientWithoutConversation(t *testing.T) {
	t.Parallel()
	g := &gauge{value: 1}
	k := kerneltest.Open(t, kerneltest.StateDir(t), g.tools(t)...)
	folder := inFolder(t, rules)
	first := kerneltest.OpenAccepted(t, k, folder)
	id := success(t, first, "watch_start", `{"name":"demo.gauge","interval":1,"notify_when":"every_check"}`)["watcher_id"]
	second := kerneltest.OpenSession(t, k, folder)
	one := fmt.Sprintf(`{"watcher_id":%q}`, id)
	if e := refuses(t, second, "watch_status", one); e.Kind != tool.NotFound {
		t.Errorf("while the first is open: %v", e)
	}
	first.Close()
	kerneltest.Eventually(t, func() bool { _, err := k.Sessions.Get(first.ID()); return err != nil })
	if list := success(t, second, "watch_list", `{}`); list["total"] != 1.0 || list["running"] != 1.0 {
		t.Errorf("%v", list)
	}
	kerneltest.Eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(success(t, second, "watch_status", one)["last_notice"]), "WATCHER UPDATE")
	})
	success(t, second, "watch_stop", one)
	owed, err := k.Tasks.Store().List(t.Context(), task.Query{Owed: true})
	ok(t, err)
	if len(owed) > 0 {
		t.Errorf("news for nobody: %v", owed)
	}
}

// A conversation that is deleted takes its watchers with it.
func TestDeletedConversation(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"demo.gauge","interval":1,"notify_when":"every_check"}`)
	p.awaitNews(t, 1)
	p.talk.Close()
	ok(t, p.Conversations.Delete(t.Context(), p.talk.ID()))
	made, err := p.Tasks.Store().Get(t.Context(), id)
	if err == nil && !made.State.Final() {
		t.Errorf("the watcher is %s", made.State)
	}
	running(t, p.Kernel, 0)
}

// What clients leave behind that come and go counts, until it has ended: an app has a
// limited number of watchers, whichever sessions started them.
func TestWatchersOfAnAppAreLimited(t *testing.T) {
	t.Parallel()
	var g gauge
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state, g.tools(t)...)
	folder := inFolder(t, "app: {app_id: shop}\n"+rules)
	const args = `{"name":"demo.gauge","interval":60}`
	first := kerneltest.OpenAccepted(t, k, folder)
	id := success(t, first, "watch_start", args)["watcher_id"].(string)
	like, err := k.Tasks.Store().Get(t.Context(), id)
	ok(t, err)
	first.Close()
	var last string
	for i := range 1999 { // as other sessions would have left them
		one := like
		one.ID, one.RunAt = fmt.Sprintf("%s-%d", id, i), time.Now().Add(time.Hour)
		one.Asker.Principal.Session = fmt.Sprintf("gone-%d", i/100)
		_, _, err := k.Tasks.Store().Create(t.Context(), one)
		ok(t, err)
		last = one.ID
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state, g.tools(t)...)
	next := kerneltest.OpenSession(t, k, folder)
	if e := refuses(t, next, "watch_start", args); e.Kind != tool.Limited || !strings.Contains(e.Error(), "2000 watchers of this app") {
		t.Error(e)
	}
	other := inFolder(t, "app: {app_id: other}\n"+rules)
	success(t, kerneltest.OpenAccepted(t, k, other), "watch_start", args)
	ok(t, k.Tasks.Cancel(t.Context(), last, "a test"))
	ok(t, k.Tasks.Wait(t.Context(), last))
	success(t, next, "watch_start", args)
	if e := refuses(t, next, "watch_start", args); e.Kind != tool.Limited {
		t.Error(e)
	}
}
