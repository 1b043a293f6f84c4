package schedules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/permission"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/task"
	"callgate/tool"
)

// A conversation's schedules are its own: no other conversation of the same app sees,
// cancels or replaces them. They go with it when it is deleted.
func TestConversationsAreApart(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		one, other := w.conversation(), w.conversation()
		j := w.add(one, "schedule", `{"when":"@hourly","action":"demo.run","name":"report"}`)
		mine := w.add(other, "schedule", `{"when":"@hourly","action":"demo.run","name":"report"}`)
		if mine.Replaced != "" || mine.ID == j.ID {
			t.Errorf("%+v", mine)
		}
		for _, args := range []string{`{"job_id":"` + j.ID + `"}`, `{"name":"none"}`} {
			if e := w.refuses(other, "cancel_schedule", args); e.Kind != tool.NotFound || strings.Contains(e.Error(), "denied") {
				t.Errorf("%s: %v", args, e)
			}
		}
		client := w.session()
		if e := w.refuses(client, "cancel_schedule", `{"job_id":"`+j.ID+`"}`); e.Kind != tool.NotFound {
			t.Error(e)
		}
		if list := append(w.list(one), w.list(client)...); len(list) != 1 || list[0].ID != j.ID {
			t.Errorf("%+v", list)
		}
		// A conversation that is closed has it still, and nobody else has it now.
		c, err := w.k.Conversations.Get(one.ID())
		ok(t, err)
		c.Close()
		pass(2 * time.Hour)
		if list := w.list(w.conversation()); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		again, err := w.k.Sessions.Get(kerneltest.Resume(t, w.k, one.ID()).ID())
		ok(t, err)
		if list := w.list(again); len(list) != 1 || list[0].Runs != 2 || list[0].Last == nil || list[0].Last.Status != "succeeded" {
			t.Errorf("%+v", list)
		}
		ok(t, w.k.Conversations.Delete(t.Context(), one.ID()))
		if got := w.job(j.ID); got.State != task.Cancelled || got.Owed() {
			t.Errorf("its conversation is deleted, and it is %s", got.State)
		}
	})
}

// The schedule of an MCP client goes on when the client is gone, for whoever that was.
func TestClientsThatCome(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		first := w.session()
		j := w.add(first, "schedule", `{"when":"@hourly","action":"demo.run","name":"report"}`)
		second := w.session()
		if list := w.list(second); len(list) != 0 {
			t.Errorf("who asked is still there: %+v", list)
		}
		first.Close()
		pass(61 * time.Minute)
		second = w.session()
		list := w.list(second)
		if len(list) != 1 || list[0].ID != j.ID || list[0].Runs != 1 || list[0].Last.Text != `{"run":1}` {
			t.Errorf("%+v", list)
		}
		limited, err := w.k.OpenSession(t.Context(), session.Spec{Workspace: w.folder, Agent: "another"})
		ok(t, err)
		if list := w.list(limited); len(list) != 0 {
			t.Errorf("another agent has %+v", list)
		}
		if got := w.add(second, "schedule", `{"when":"@daily","action":"demo.run","name":"report"}`); got.Replaced != j.ID {
			t.Errorf("%+v", got)
		}
	})
}

// A name that is used again means the new job; the former one ends, and nobody is told of
// that but by the answer.
func TestReplacement(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		first := w.add(s, "schedule", `{"when":"in 10m","action":"demo.run","name":"job"}`)
		second := w.add(s, "schedule", `{"when":"in 20m","action":"demo.run","name":" job "}`)
		third := w.add(s, "remind", `{"when":"in 30m","message":"hello","name":"other"}`)
		if second.Replaced != first.ID || third.Replaced != "" {
			t.Errorf("%+v, %+v", second, third)
		}
		if got := w.job(first.ID); got.State != task.Cancelled || len(w.owed(s.ID())) != 0 {
			t.Errorf("the first is %s, and %q is told", got.State, w.owed(s.ID()))
		}
		pass(time.Hour)
		same(t, "it ran", w.demo.times(began), []time.Duration{20 * time.Minute})
	})
}

// A job is cancelled by its ID or its name, also while it runs; one that has ended stays
// as it is.
func TestCancel(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.conversation()
		for _, by := range []string{"job_id", "name", "id"} {
			j := w.add(s, "schedule", `{"when":"in 10m","action":"demo.run","name":"job"}`)
			what := map[string]string{"job_id": j.ID, "id": j.ID, "name": "job"}[by]
			r := kerneltest.Call(t, s, "cancel_schedule", fmt.Sprintf(`{%q:%q}`, by, what))
			if !strings.Contains(string(r.Data), `"cancelled":true,"status":"cancelled","ran_count":0`) {
				t.Errorf("by %s: %s %s", by, r.Summary, r.Data)
			}
			if by == "job_id" {
				if again := kerneltest.Call(t, s, "cancel_schedule", fmt.Sprintf(`{"job_id":%q}`, j.ID)); again.Status != tool.Success {
					t.Error(again.Summary)
				}
			}
		}
		if e := w.refuses(s, "cancel_schedule", `{}`); !strings.Contains(e.Error(), "no job is named") {
			t.Error(e)
		}
		done := w.add(s, "schedule", `{"when":"in 1s","action":"demo.run"}`)
		pass(2 * time.Second)
		r := kerneltest.Call(t, s, "cancel_schedule", fmt.Sprintf(`{"job_id":%q}`, done.ID))
		if !strings.Contains(string(r.Data), `"cancelled":false,"status":"done","ran_count":1`) {
			t.Errorf("%s", r.Data)
		}
		same(t, "it ran", len(w.demo.times(time.Now())), 1)
	})
}

// An app has as many jobs as it may have, and another app has its own.
func TestQuota(t *testing.T) {
	const app = "runtime: {scheduler: {max_jobs: 3}}\ntools:\n  capabilities: {default_policy: auto}\n"
	inBubble(t, app, func(t *testing.T, w *world) {
		s, other := w.conversation(), w.session()
		w.add(s, "schedule", `{"when":"in 1h","action":"demo.run"}`)
		named := w.add(s, "schedule", `{"when":"in 2h","action":"demo.run","name":"a"}`)
		w.add(other, "schedule", `{"when":"in 3h","action":"demo.run"}`)
		e := w.refuses(s, "remind", `{"when":"in 1h","message":"x"}`)
		if e.Kind != tool.Limited || !strings.Contains(e.Error(), "3 schedules") || !strings.Contains(e.Error(), "max_jobs") {
			t.Error(e)
		}
		if got := w.add(s, "schedule", `{"when":"in 2h","action":"demo.run","name":"a"}`); got.Replaced != named.ID {
			t.Errorf("%+v", got)
		}
		pass(61 * time.Minute)
		s = w.conversation()
		w.add(s, "remind", `{"when":"in 1h","message":"x"}`) // one has ended
		if e := w.refuses(s, "remind", `{"when":"in 1h","message":"x"}`); e.Kind != tool.Limited {
			t.Error(e)
		}
		w.restart(0)
		if e := w.refuses(w.conversation(), "remind", `{"when":"in 1h","message":"x"}`); e.Kind != tool.Limited {
			t.Error("after a restart:", e)
		}
	})
}

// What is wrong with a request is told at once, and nothing is scheduled.
func TestRefusedRequests(t *testing.T) {
	const app = "runtime: {scheduler: true}\ntools:\n  capabilities:\n    grant: [{module: filesystem, actions: [read]}]\n" +
		"    approve: [{module: demo}]\n    deny: [{module: shell, reason: no commands here}]\n"
	inBubble(t, app, func(t *testing.T, w *world) {
		s := w.conversation()
		for args, want := range map[string]string{
			`{"action":"demo.run"}`:                                                         "when",
			`{"when":"soon","action":"demo.run"}`:                                           "which is no time that is known here",
			`{"when":"0 0 9 * * *","action":"demo.run"}`:                                    "it has 6 fields",
			`{"when":"1999-12-31T23:59Z","action":"demo.run"}`:                              "which is past",
			`{"when":"in 1h"}`:                                                              "no tool is named",
			`{"when":"in 1h","action":"demo.rnu"}`:                                          "demo.run",
			`{"when":"in 1h","action":"shell.bash","args":{"command":"ls"}}`:                "no commands here",
			`{"when":"in 1h","action":"filesystem.read"}`:                                   "path",
			`{"when":"in 1h","action":"schedule","args":{}}`:                                "kernel's own tools",
			`{"when":"in 1h","action":"demo.run","max_runs":2}`:                             "max_runs is 2, and when names one time",
			`{"when":"in 1h","action":"demo.run","max_runs":-1}`:                            "max_runs",
			`{"when":"in 1h","action":"demo.run","timezone":"Mars/Olympus"}`:                "there is no time zone",
			`{"when":"in 1h","action":"demo.run","name":"` + strings.Repeat("n", 65) + `"}`: "name",
			`{"when":"in 1h","action":"demo.run","output_channel":"ops"}`:                   "there is no channel",
		} {
			if e := w.refuses(s, "schedule", args); !strings.Contains(e.Error(), want) {
				t.Errorf("%s: %v, want %s", args, e, want)
			}
		}
		if e := w.refuses(s, "remind", `{"when":"in 1h","message":"  "}`); !strings.Contains(e.Error(), "empty") {
			t.Error(e)
		}
		if list := w.list(s); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		for args, hint := range map[string]string{
			`{"when":"in 1h","action":"demo.run"}`:                                                   "a human must approve each run",
			`{"when":"in 1h","tool":"filesystem.read","params":{"file_path":"callgate.yaml"}}`:       "",
			`{"when":"in 1h","name":"filesystem.read","arguments":{"path":"callgate.yaml"}}`:         "",
			`{"at":"in 1h","action":"filesystem.read","args":{"path":"callgate.yaml"},"max_runs":1}`: "",
		} {
			if j := w.add(s, "schedule", args); !strings.Contains(j.Hint, hint) || !strings.Contains(j.Label, ".") {
				t.Errorf("%s: %+v", args, j)
			}
		}
	})
}

// In permission mode plan nothing that changes anything is scheduled.
func TestPlanMode(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.conversation()
		_, err := w.k.Permissions.Set(t.Context(), kerneltest.Human(t, w.k), s, s.Caller().Requester(),
			permissions.Change{Mode: string(permission.Plan)})
		ok(t, err)
		if e := w.refuses(s, "schedule", `{"when":"in 1h","action":"demo.run"}`); e.Kind != tool.Denied {
			t.Error(e)
		}
		w.add(s, "schedule", `{"when":"in 1h","action":"filesystem.read","args":{"path":"callgate.yaml"}}`)
	})
}

// The tools are there where the app turns them on and a human accepted that.
func TestShownWhereTheAppTurnsItOn(t *testing.T) {
	for name, c := range map[string]struct {
		app    string
		accept bool
		shown  bool
		says   string
	}{
		"on":           {free, true, true, ""},
		"not accepted": {free, false, false, "let agents have calls made later"},
		"off":          {"runtime: {scheduler: false}\n", true, false, "runtime: {scheduler: true}"},
		"not named":    {"app: {app_id: a}\n", true, false, "runtime: {scheduler: true}"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.app, func(t *testing.T, w *world) {
				s := kerneltest.OpenSession(t, w.k, w.folder)
				if c.accept {
					s = w.session()
				}
				plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: "direct"})
				ok(t, err)
				var names []string
				for _, one := range plan.Shown {
					names = append(names, one.Name)
				}
				all := strings.Join(names, " ")
				for _, one := range []string{"schedule", "remind", "cancel_schedule", "schedule_list"} {
					if strings.Contains(" "+all+" ", " "+one+" ") != c.shown {
						t.Errorf("%s is among %s: %v", one, all, !c.shown)
					}
				}
				if !c.shown {
					if e := w.refuses(s, "schedule", `{"when":"in 1h","action":"demo.run"}`); !strings.Contains(e.Error(), c.says) {
						t.Error(e)
					}
				}
			})
		})
	}
}

// The results of an app with a channel go there: each once, also when the kernel is
// restarted, and the file that the app file names no more is told to the conversation.
func TestResultsInAFile(t *testing.T) {
	const app = "runtime: {scheduler: true, default_channel: report}\ntools:\n  capabilities: {default_policy: auto}\n"
	const channel = "  channels: {report: {type: file, path: out.txt, format: text}}\n"
	inBubble(t, app+channel, func(t *testing.T, w *world) {
		s := w.conversation()
		named := w.add(s, "schedule", `{"when":"@hourly","action":"demo.run","output_channel":"report","max_runs":2}`)
		implied := w.add(s, "schedule", `{"when":"in 90m","action":"demo.run"}`)
		told := w.add(s, "schedule", `{"when":"in 90m","action":"demo.run","output_channel":"conversation"}`)
		if named.Channel != "report" || implied.Channel != "report" || told.Channel != "" {
			t.Errorf("%+v, %+v, %+v", named, implied, told)
		}
		pass(100 * time.Minute)
		w.restart(time.Hour)
		pass(time.Minute)
		data, err := os.ReadFile(filepath.Join(w.folder, "out.txt"))
		ok(t, err)
		for _, run := range []string{named.ID + "-20000101T010000Z", named.ID + "-20000101T020000Z", implied.ID + "-20000101T013000Z"} {
			if strings.Count(string(data), "SCHEDULED RUN "+run+" of demo.run: succeeded") != 1 {
				t.Errorf("%s is not there once:\n%s", run, data)
			}
		}
		if owed := strings.Join(w.owed(s.ID()), "\n"); strings.Count(owed, told.ID) != 1 || strings.Contains(owed, `{"run":1}`) {
			t.Errorf("told %s", owed)
		}
	})
}
