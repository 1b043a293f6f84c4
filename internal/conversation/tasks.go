package conversation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
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
	unfinished, err := edge.tasks.unfinished(ctx)
	if err != nil {
		return control.Task{}, err
	}
	if n := len(unfinished); n >= maxTasks {
		return control.Task{}, tool.Errorf(op, tool.Limited, "%d jobs are under way already", n).
			WithHint("wait until one has ended")
	}
	input, err := json.Marshal(coreInput{Goal: goal, Mode: m.Permissions.Of(edge.ID()).Mode})
	if err != nil {
		return control.Task{}, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the task cannot be written", Err: err}
	}
	requester := edge.session.Caller().Requester()
	t, err := m.Runner.Start(ctx, task.Task{
		ID: call.ID + "-core", Kind: coreTask, Label: tool.TruncateTo(goal, 80), Parent: edge.ID(), Input: input,
		Asker: task.Asker{
			Principal: call.Principal, Workspace: edge.session.Workspace(), AppFile: edge.session.Loaded().AppFile(),
			PID: requester.PID, Human: requester.Human, Root: requester.Root, Sessions: requester.Sessions, Call: call.ID,
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
	core, err := m.openTask(ctx, t, in.Mode)
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
func (m *Manager) openTask(ctx context.Context, t task.Task, began permission.Mode) (*Conversation, error) {
	spec := Spec{
		task: true, id: t.ID, Workspace: t.Asker.Workspace, AppFile: t.Asker.AppFile, Agent: t.Asker.Principal.Agent,
		Lane: app.CoreLane, Requester: approval.Requester{
			PID: t.Asker.PID, Human: t.Asker.Human, Root: t.Asker.Root, Sessions: t.Asker.Sessions,
		},
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
	m.Permissions.Inherit(t.ID, t.Parent, began)
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

// startedTasks are the tasks that a conversation started. Their ends reach its model once: a
// note of the history names the task, and then the task counts as told.
type startedTasks struct {
	parent string // the conversation's ID
	log    *history.Log
	app    *app.App // may be nil
	store  task.Store
	runner Runner
}

var _ agent.TaskNotices = (*startedTasks)(nil)

// resume starts the core tasks of an earlier process that have not ended.
func (t *startedTasks) resume(ctx context.Context) error {
	unfinished, err := t.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, one := range unfinished {
		if _, err := t.runner.Start(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// unfinished returns the core tasks that have not ended.
func (t *startedTasks) unfinished(ctx context.Context) ([]task.Task, error) {
	return t.store.List(ctx, task.Query{Parent: t.parent, Kinds: []string{coreTask}, Active: true})
}

// owed returns the ended tasks, of any kind, that do not count as told.
func (t *startedTasks) owed(ctx context.Context) ([]task.Task, error) {
	return t.store.List(ctx, task.Query{Parent: t.parent, Owed: true})
}

// cancel cancels the core tasks and waits until they have stopped.
func (t *startedTasks) cancel(ctx context.Context) error {
	unfinished, err := t.unfinished(ctx)
	if err != nil {
		return err
	}
	for _, one := range unfinished {
		if err := t.runner.Cancel(ctx, one.ID, "the end of its conversation"); err != nil {
			return err
		}
	}
	for _, one := range unfinished {
		if err := t.runner.Wait(ctx, one.ID); err != nil {
			return err
		}
	}
	return nil
}

// Notices returns the ends of tasks that the model has not seen.
func (t *startedTasks) Notices(ctx context.Context) ([]agent.Notice, error) {
	owed, err := t.owed(ctx)
	if err != nil {
		return nil, err
	}
	var notices []agent.Notice
	for _, one := range owed {
		noted := false
		t.log.View(func(s *history.State) { noted = s.Noted(one.ID) })
		if noted { // by a process that ended before it could say so
			if err := t.store.Told(ctx, one.ID); err != nil {
				return nil, err
			}
			continue
		}
		notices = append(notices, agent.Notice{Task: one.ID, Text: noticeOf(one)})
	}
	return notices, nil
}

// noticeOf says how a task ended.
func noticeOf(t task.Task) string {
	if t.Kind != coreTask {
		return tasks.Notice(t)
	}
	o := outcomeOf(t)
	text := fmt.Sprintf("CORE JOB %s ENDED (%s)", t.ID, o.Reason)
	if o.Error != "" {
		text += ": " + o.Error
	}
	if o.Answer != "" {
		text += "\n" + tool.TruncateTo(o.Answer, 8000)
	}
	return text
}

// Noted has tasks whose notices are in the history count as told.
func (t *startedTasks) Noted(ctx context.Context, notices []agent.Notice) error {
	ids := make([]string, len(notices))
	for i, n := range notices {
		ids[i] = n.Task
	}
	return t.store.Told(context.WithoutCancel(ctx), ids...)
}

// Await waits for the core tasks and reports whether there are notices. Only an
// app that takes a single turn waits: elsewhere they come with the user's next
// message.
func (t *startedTasks) Await(ctx context.Context) bool {
	if t.app == nil || t.app.Runtime.Mode != "one_shot" {
		return false
	}
	unfinished, err := t.unfinished(ctx)
	if err != nil {
		return false
	}
	for _, one := range unfinished {
		if t.runner.Wait(ctx, one.ID) != nil {
			return false
		}
	}
	notices, err := t.Notices(ctx)
	return err == nil && len(notices) > 0
}

// unreported returns the calls that began tasks whose end the model has not seen.
func (t *startedTasks) unreported(ctx context.Context) (map[string]bool, error) {
	waiting, err := t.unfinished(ctx)
	if err != nil {
		return nil, err
	}
	owed, err := t.owed(ctx)
	if err != nil {
		return nil, err
	}
	calls := map[string]bool{}
	for _, one := range append(waiting, owed...) {
		calls[one.Asker.Call] = true
	}
	return calls, nil
}

// deleteTasks cancels what a deleted conversation left, and tells nobody.
func (m *Manager) deleteTasks(ctx context.Context, id string) error {
	left := startedTasks{parent: id, store: m.Tasks, runner: m.Runner}
	if err := left.cancel(ctx); err != nil {
		return err
	}
	owed, err := left.owed(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(owed))
	for i, one := range owed {
		ids[i] = one.ID
	}
	return m.Tasks.Told(ctx, ids...)
}
