package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/owed"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// coreTask is the kind of the tasks that an edge lane hands to its core lane.
// Each is a conversation of its own, which has the task's ID.
const coreTask = "conversation.core"

// maxTasks limits the core tasks of one conversation that have not ended.
const maxTasks = 8

// coreInput is the input of a core task.
type coreInput struct {
	Goal string `json:"goal"`
	// Mode is the permission mode in which it was begun.
	Mode permission.Mode `json:"mode,omitempty"`
	// AppMode is the mode of the app in which it was begun.
	AppMode string `json:"app_mode,omitempty"`
}

// coreOutcome is what is known of a core task that has ended.
type coreOutcome struct {
	Reason history.Reason `json:"reason"`
	Error  string         `json:"error,omitempty"`
	Answer string         `json:"answer,omitempty"` // of the core lane's model
}

// StartTask begins a core task. Its ID is made from that of the call, so the same
// call made again after a crash finds the task that it began.
func (m *Manager) StartTask(ctx context.Context, call tool.Call, goal string) (control.Task, error) {
	const op = "conversation.StartTask"
	edge, err := m.Get(call.Principal.Session)
	if err != nil {
		return control.Task{}, err
	}
	if edge.session.Principal().Lane != app.EdgeLane {
		return control.Task{}, tool.Errorf(op, tool.NotFound, "this agent has no core lane").WithHint("do it yourself")
	}
	unfinished, err := edge.debts.Active(ctx, coreTask)
	if err != nil {
		return control.Task{}, err
	}
	if n := len(unfinished); n >= maxTasks {
		return control.Task{}, tool.Errorf(op, tool.Limited, "%d jobs are under way already", n).
			WithHint("wait until one has ended")
	}
	input, err := json.Marshal(coreInput{Goal: goal, Mode: m.Permissions.Of(edge.ID()).Mode, AppMode: edge.AppMode().Name})
	if err != nil {
		return control.Task{}, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the task cannot be written", Err: err}
	}
	requester := edge.session.Caller().Requester()
	t, err := m.Runner.Start(ctx, task.Task{
		ID: call.ID + "-core", Kind: coreTask, Label: tool.TruncateTo(goal, 80), Parent: edge.ID(), Input: input,
		Asker: task.Asker{
			Principal: call.Principal, Workspace: edge.session.Workspace(), AppFile: edge.session.Loaded().AppFile(),
			Only: m.Sessions.Skills.Only(edge.ID()),
			PID:  requester.PID, Human: requester.Human, Root: requester.Root, Sessions: requester.Sessions, Call: call.ID,
		},
	})
	return describeTask(t), err
}

// Task returns a core task of a conversation.
func (m *Manager) Task(ctx context.Context, conversation, id string) (control.Task, error) {
	t, err := m.Tasks.Get(ctx, id)
	if tool.KindOf(err) == tool.NotFound || err == nil && (t.Parent != conversation || t.Kind != coreTask) {
		return control.Task{}, tool.Errorf("conversation.Task", tool.NotFound, "there is no job %q", tool.Truncate(id))
	}
	return describeTask(t), err
}

// describeTask is a core task in the words of the tool that began it.
func describeTask(t task.Task) control.Task {
	if !t.State.Final() {
		return control.Task{ID: t.ID, Status: "running"}
	}
	o := outcomeOf(t)
	return control.Task{ID: t.ID, Status: string(o.Reason), Answer: tool.TruncateTo(o.Answer, 8000)}
}

// outcomeOf returns what is known of a core task that has ended. One that never
// ran, or whose handler failed, has no data.
func outcomeOf(t task.Task) coreOutcome {
	var o coreOutcome
	if t.Outcome == nil {
		return o
	}
	if json.Unmarshal(t.Outcome.Data, &o) == nil && o.Reason != "" {
		return o
	}
	o = coreOutcome{Reason: history.Cancelled, Error: t.Outcome.Summary}
	if t.State == task.Failed {
		o.Reason = history.Failed
	}
	return o
}

// runTask runs a core task: a conversation of its own, from its goal to the end
// of a turn. One that a kernel left goes on where it was.
func (m *Manager) runTask(ctx context.Context, r *tasks.Run) task.Outcome {
	t := r.Task
	var in coreInput
	if err := json.Unmarshal(t.Input, &in); err != nil {
		return tasks.Failed(err)
	}
	core, err := m.openTask(ctx, t, in)
	if err != nil {
		return tasks.Failed(err)
	}
	defer core.Close()
	end, err := core.work(ctx, in.Goal)
	if err != nil {
		end = history.End{Reason: history.Failed, Error: err.Error()}
	}
	made := coreOutcome{Reason: end.Reason, Error: end.Error, Answer: core.lastAnswer()}
	data, err := json.Marshal(made)
	if err != nil {
		return tasks.Failed(err)
	}
	outcome := task.Outcome{State: task.Failed, Summary: tool.TruncateTo(cmp.Or(made.Answer, made.Error), 200), Data: data}
	switch end.Reason {
	case history.Done:
		outcome.State = task.Done
	case history.Cancelled, history.Interrupted:
		outcome.State = task.Cancelled
	}
	return outcome
}

// openTask opens the conversation of a core task. What a human is asked there is
// shown where the edge lane's turn is watched.
func (m *Manager) openTask(ctx context.Context, t task.Task, in coreInput) (*Conversation, error) {
	spec := Spec{
		task: true, id: t.ID, appMode: in.AppMode,
		Workspace: t.Asker.Workspace, AppFile: t.Asker.AppFile, Agent: t.Asker.Principal.Agent,
		Lane: app.CoreLane, only: t.Asker.Only, Requester: deferred.RequesterOf(t.Asker),
	}
	if edge, err := m.Get(t.Parent); err == nil { // it may have been opened again, by another process
		spec.Requester = edge.session.Caller().Requester()
	}
	spec.asked = func(r approval.Request) {
		if edge, err := m.Get(t.Parent); err == nil {
			edge.turn.onAsked(r)
		}
	}
	switch _, err := m.Store.Get(ctx, t.ID); {
	case err == nil:
		spec.Resume = t.ID
	case tool.KindOf(err) != tool.NotFound:
		return nil, err
	}
	m.Permissions.Inherit(t.ID, t.Parent, in.Mode)
	return m.Open(ctx, spec)
}

// work runs the turn of a core task, or the rest of it.
func (c *Conversation) work(ctx context.Context, goal string) (history.End, error) {
	var last *history.End
	turns := 0
	c.log.View(func(s *history.State) { last, turns = s.Last, s.Turns })
	switch {
	case turns == 0:
		return c.Send(ctx, llm.TextMessage(llm.User, goal), Watch{})
	case last != nil && last.Reason == history.Cancelled: // by a kernel that closed, in an earlier version
		return c.Send(ctx, llm.TextMessage(llm.User, "You were interrupted. Go on."), Watch{})
	default:
		return c.Resume(ctx, Watch{})
	}
}

// lastAnswer is the model's last text.
func (c *Conversation) lastAnswer() string {
	messages := c.log.Messages()
	for i := len(messages) - 1; i >= 0; i-- {
		if text := messages[i].Text(); messages[i].Role == llm.Assistant && text != "" {
			return text
		}
	}
	return ""
}

// resumeCore starts the core tasks of an earlier process that have not ended.
func (m *Manager) resumeCore(ctx context.Context, c *Conversation) error {
	active, err := c.debts.Active(ctx, coreTask)
	if err != nil {
		return err
	}
	for _, t := range active {
		if _, err := m.Runner.Start(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// coreNotice says how a core task ended.
func coreNotice(t task.Task, n int) string {
	o := outcomeOf(t)
	text := fmt.Sprintf("CORE JOB %s ENDED (%s)", t.ID, o.Reason)
	if o.Error != "" {
		text += ": " + o.Error
	}
	if o.Answer != "" {
		text += "\n" + o.Answer
	}
	return tool.TruncateTo(text, n)
}

// taskPatience is how long an app that takes a single turn waits for tasks that have no
// limits of their own, such as a command in the background.
const taskPatience = 10 * time.Minute

// debtsOf are what a conversation is owed.
func (m *Manager) debtsOf(id string, log *history.Log, a *app.App) *owed.Debts {
	d := &owed.Debts{
		Parent: id, Log: log, Store: m.Tasks, Runner: m.Runner, Longer: []string{coreTask},
		Texts: map[string]owed.Words{coreTask: coreNotice},
	}
	maps.Copy(d.Texts, m.Told.Texts)
	d.Spent, d.Longer = m.Told.Spent, append(d.Longer, m.Told.Closed...)
	if a != nil && a.Runtime.Mode == "one_shot" {
		d.Patience = taskPatience
	}
	return d
}
