package schedules_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/control"
	"callgate/internal/conversation"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/permissions"
	"callgate/internal/kernel/schedules"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// withChannel is an app with a channel, and what else its file says of tools.
func withChannel(rules string) string {
	return "app: {app_id: shop}\nruntime: {scheduler: true}\ntools:\n" + rules +
		"  channels: {ops: {type: file, path: out.txt, format: text}, other: {type: file, path: other.txt}}\n"
}

const (
	freely   = "  capabilities: {default_policy: auto}\n"
	approved = "  capabilities: {default_policy: auto, approve: [{module: channels}]}\n"
	denied   = "  capabilities: {default_policy: auto, deny: [{module: channels, match: {channel: ops}, reason: not there}]}\n"
)

// sent is what the channel ops has.
func (w *world) sent() string {
	data, _ := os.ReadFile(filepath.Join(w.folder, "out.txt")) // nothing was sent if there is none
	return string(data)
}

// broken makes calls, but none that sends while it is down.
type broken struct {
	*deferred.Calls
	down atomic.Bool
}

func (b *broken) Call(ctx context.Context, asker task.Asker, r gate.CallRequest) *tool.Result {
	if b.down.Load() && r.Name == "channels.send_message" {
		e := tool.Errorf("test", tool.Unavailable, "the disk is full")
		return &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e}
	}
	return b.Calls.Call(ctx, asker, r)
}

// What a run brought goes to its channel and not to the conversation, which learns of a
// delivery that cannot be. One that cannot be now is made later, and the call is not.
func TestChannel(t *testing.T) {
	inBubble(t, withChannel(freely), func(t *testing.T, w *world) {
		began, s, calls := time.Now(), w.conversation(), &broken{Calls: w.k.Deferred}
		r := newRoom(t, w.k, filepath.Join(t.TempDir(), "db"), schedules.Options{Calls: calls})
		j := r.add(t, s, "c1", control.ScheduleRequest{When: "@hourly", Action: "demo.run", Channel: "ops"})
		_, err := r.Schedule(t.Context(), tool.Call{ID: "c2", Principal: s.Principal()},
			control.ScheduleRequest{When: "@hourly", Action: "demo.run", Channel: "nowhere"})
		if tool.KindOf(err) != tool.NotFound {
			t.Error(err)
		}
		owed := func() (texts []string) {
			list, err := r.stores.Tasks.List(t.Context(), task.Query{Parent: s.ID(), Owed: true})
			ok(t, err)
			for _, one := range list {
				texts = append(texts, told(one))
			}
			return texts
		}
		pass(61 * time.Minute)
		run := schedules.RunID(j.ID, began.Add(time.Hour))
		if want := "SCHEDULED RUN " + run + " of demo.run: succeeded\n{\"run\":1}"; strings.Count(w.sent(), want) != 1 {
			t.Errorf("delivered %q, want %q", w.sent(), want)
		}
		calls.down.Store(true)
		pass(time.Hour)
		if strings.Count(w.sent(), "SCHEDULED RUN") != 1 || len(owed()) != 0 {
			t.Errorf("delivered %q, told %q", w.sent(), owed())
		}
		calls.down.Store(false)
		pass(2 * time.Minute)
		if strings.Count(w.sent(), "SCHEDULED RUN") != 2 || strings.Count(w.sent(), `{"run":2}`) != 1 {
			t.Errorf("delivered %q", w.sent())
		}
		w.rules(strings.Replace(withChannel(freely), "ops:", "gone:", 1))
		w.session()
		pass(time.Hour)
		if told := owed(); len(told) != 1 || !strings.Contains(told[0], `could not be delivered to the channel ops: there is no channel "ops"`) {
			t.Errorf("told %q", told)
		}
		same(t, "it ran", w.demo.times(began), hours(1, 2, 3))
	})
}

// A schedule is refused that would send what its asker may not send: whether it names the
// channel, or the app does.
func TestChannelIsJudgedWhenAskedFor(t *testing.T) {
	const limits = "agents:\n- {id: lead, system_prompt: Lead.}\n" +
		"- {id: mute, system_prompt: Think., modules: [filesystem]}\nprofiles:\n  some: {modules: [filesystem]}\n"
	const block = "  capabilities: {default_policy: block, grant: [{module: filesystem}, {module: channels, match: {channel: "
	const asks = "by the rules of now a human must approve each message to the channel ops"
	for name, c := range map[string]struct {
		rules, agent, profile string
		plan                  bool
		kind                  tool.Kind // "": it is taken
		hint                  string
	}{
		"free":                 {rules: freely},
		"to be approved":       {rules: approved, hint: asks},
		"no rules":             {hint: asks},
		"denied":               {rules: strings.Replace(denied, ", match: {channel: ops}", "", 1), kind: tool.Denied},
		"this one is denied":   {rules: denied, kind: tool.Denied},
		"another is granted":   {rules: block + "other}}]}\n", kind: tool.Denied},
		"this one is granted":  {rules: block + "ops}}]}\n"},
		"plan mode":            {rules: freely, plan: true, kind: tool.Denied},
		"an agent without it":  {rules: freely, agent: "mute", kind: tool.NotFound},
		"a profile without it": {rules: freely, profile: "some", kind: tool.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			app := limits + strings.Replace(withChannel(c.rules), "scheduler: true", "scheduler: true, default_channel: ops", 1)
			inBubble(t, app, func(t *testing.T, w *world) {
				w.session().Close()
				var s *session.Session
				if c.profile != "" {
					var err error
					s, err = w.k.OpenSession(t.Context(), session.Spec{Workspace: w.folder, Profile: c.profile})
					ok(t, err)
					t.Cleanup(s.Close)
				} else {
					s = kerneltest.OpenConversationWith(t, w.k, conversation.Spec{Workspace: w.folder, Agent: c.agent}).Session()
				}
				if c.plan {
					_, err := w.k.Permissions.Set(t.Context(), kerneltest.Human(t, w.k), s, s.Caller().Requester(),
						permissions.Change{Mode: string(permission.Plan)})
					ok(t, err)
				}
				for _, channel := range []string{"", `,"output_channel":"ops"`} {
					args := `{"when":"in 1h","action":"filesystem.read","args":{"path":"callgate.yaml"}` + channel + `}`
					if c.kind == "" {
						if j := w.add(s, "schedule", args); j.Channel != "ops" || j.Hint != c.hint {
							t.Errorf("%s: %+v", args, j)
						}
					} else if e := w.refuses(s, "schedule", args); e.Kind != c.kind {
						t.Errorf("%s: %v", args, e)
					}
				}
				w.add(s, "schedule", `{"when":"in 1h","action":"filesystem.read","args":{"path":"callgate.yaml"},"output_channel":"conversation"}`)
			})
		})
	}
}

// What is sent is judged by the rules of when it is: refused and told, or put before a
// human and sent once, also by the next kernel; and hooks look at it.
func TestChannelIsJudgedWhenItFires(t *testing.T) {
	const hook = "runtime: {scheduler: true, hooks: [{id: guard, on: tool_start, " +
		"condition: {type: tool_name, match: channels.send_message}, action: {type: block, reason: the guard says no}}]}"
	for name, c := range map[string]struct{ then, now, want string }{
		"denied by now":               {withChannel(freely), withChannel(denied), "not there"},
		"hidden by now":               {withChannel(freely), withChannel("  capabilities: {default_policy: auto, hidden_modules: [channels]}\n"), "channels.send_message"},
		"a hook":                      {strings.Replace(withChannel(freely), "runtime: {scheduler: true}", hook, 1), "", "the guard says no"},
		"a human":                     {withChannel(approved), "", ""},
		"a human, to be asked by now": {withChannel(freely), withChannel(approved), ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.then, func(t *testing.T, w *world) {
				w.session().Close()
				s := w.conversation()
				w.add(s, "schedule", `{"when":"in 1h","action":"demo.run","output_channel":"ops"}`)
				if c.now != "" {
					w.rules(c.now)
					w.session().Close()
				}
				pass(61 * time.Minute)
				if w.sent() != "" {
					t.Errorf("sent %q", w.sent())
				}
				if c.want != "" {
					told := strings.Join(w.owed(s.ID()), "\n")
					if !strings.Contains(told, "could not be delivered to the channel ops") || !strings.Contains(told, c.want) {
						t.Errorf("told %q", told)
					}
					return
				}
				w.restart(time.Minute)
				pass(time.Second)
				waiting, err := w.k.Approvals.List(t.Context(), approval.Pending, 0)
				ok(t, err)
				if len(waiting) != 1 || waiting[0].Call.Tool.Dotted() != "channels.send_message" {
					t.Fatalf("%+v", waiting)
				}
				kerneltest.Settle(t, w.k, waiting[0].ID, approval.Answer{Approve: true})
				pass(time.Minute)
				if strings.Count(w.sent(), `{"run":1}`) != 1 {
					t.Errorf("sent %q", w.sent())
				}
				same(t, "it ran", len(w.demo.times(time.Now())), 1)
			})
		})
	}
}

// What a client asked for that is gone is sent all the same, as that client.
func TestChannelOfAClientThatIsGone(t *testing.T) {
	inBubble(t, withChannel(freely), func(t *testing.T, w *world) {
		s := w.session()
		w.add(s, "schedule", `{"when":"in 1h","action":"demo.run","output_channel":"ops"}`)
		s.Close()
		pass(61 * time.Minute)
		if strings.Count(w.sent(), `{"run":1}`) != 1 {
			t.Errorf("sent %q", w.sent())
		}
	})
}
