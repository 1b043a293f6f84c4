package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// maxTasks is how many tasks one conversation may have under way.
const maxTasks = 8

// taskIDSuffix marks the conversations of core lanes.
const taskIDSuffix = "-core"

// tasks are what an edge lane's core lane works at, and the notices of their
// ends that wait for the model.
type tasks struct {
	conversation *Conversation
	manager      *Manager

	mu      sync.Mutex
	all     []*task
	notices []string
}

// task is a conversation of the core lane.
type task struct {
	conversation *Conversation
	cancel       context.CancelFunc
	done         chan struct{}
	end          history.End // readable when done is closed, like answer
	answer       string
}

func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// StartTask begins a task of an edge lane's core. It is a conversation of its
// own, under an ID made from that of the call that began it: made again after a
// crash, the call finds the task it had begun.
func (m *Manager) StartTask(ctx context.Context, call tool.Call, goal string) (control.Task, error) {
	const op = "conversation.StartTask"
	edge, err := m.Get(call.Principal.Session)
	if err != nil {
		return control.Task{}, err
	}
	if edge.session.Principal().Lane != app.EdgeLane {
		return control.Task{}, tool.Errorf(op, tool.NotFound, "this agent has no core lane").WithHint("do it yourself")
	}
	if n := edge.tasks.running(); n >= maxTasks {
		return control.Task{}, tool.Errorf(op, tool.Limited, "%d jobs are under way already", n).
			WithHint("wait until one has ended")
	}
	return edge.tasks.start(ctx, call.ID+taskIDSuffix, goal)
}

// Task returns how a task of a conversation stands.
func (m *Manager) Task(conversation, id string) (control.Task, error) {
	edge, err := m.Get(conversation)
	if err != nil {
		return control.Task{}, err
	}
	for _, t := range edge.tasks.list() {
		if t.conversation.ID() != id {
			continue
		}
		if !t.ended() {
			return control.Task{ID: id, Status: "running"}, nil
		}
		return control.Task{ID: id, Status: string(t.end.Reason), Answer: tool.TruncateTo(t.answer, 8000)}, nil
	}
	return control.Task{}, tool.Errorf("conversation.Task", tool.NotFound, "there is no job %q", tool.Truncate(id))
}

// start begins a task, or goes on with one that was broken off.
func (t *tasks) start(ctx context.Context, id, goal string) (control.Task, error) {
	edge := t.conversation
	_, err := t.manager.Store.Get(ctx, id)
	if err != nil && tool.KindOf(err) != tool.NotFound {
		return control.Task{}, err
	}
	spec := Spec{
		task: true, id: id, Workspace: edge.session.Workspace(), AppFile: edge.session.Loaded().AppFile(),
		Agent: edge.agent.ID, Lane: app.CoreLane, Requester: edge.session.Caller().Requester(),
		asked: edge.turn.onAsked,
	}
	if err == nil {
		spec.Resume = id
	}
	core, err := t.manager.Open(ctx, spec)
	if err != nil {
		return control.Task{}, err
	}
	one := &task{conversation: core, done: make(chan struct{})}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one.cancel = cancel
	t.mu.Lock()
	t.all = append(t.all, one)
	t.mu.Unlock()
	started := t.manager.Go(func(kernel context.Context) {
		defer context.AfterFunc(kernel, cancel)()
		t.run(working, one, goal)
	})
	if !started {
		cancel()
		core.Close()
		close(one.done)
		return control.Task{}, tool.Errorf("conversation.StartTask", tool.Unavailable, "the kernel is closing")
	}
	return control.Task{ID: id, Status: "running"}, nil
}

// run works at a task, and leaves a notice of its end for the edge lane.
func (t *tasks) run(ctx context.Context, one *task, goal string) {
	defer close(one.done) // when nothing of it is left
	defer one.cancel()
	core := one.conversation
	defer core.Close()
	var end history.End
	var err error
	if core.Info().Turns == 0 {
		end, err = core.Send(ctx, llm.TextMessage(llm.User, goal), Watch{})
	} else {
		end, err = core.Resume(ctx, Watch{})
	}
	if err != nil {
		end = history.End{Reason: history.Failed, Error: err.Error()}
	}
	messages := core.log.Messages()
	for i := len(messages) - 1; i >= 0 && one.answer == ""; i-- {
		if messages[i].Role == llm.Assistant {
			one.answer = messages[i].Text()
		}
	}
	one.end = end
	notice := fmt.Sprintf("%s (%s)", taskEndNote(core.ID()), end.Reason)
	if end.Error != "" {
		notice += ": " + end.Error
	}
	if one.answer != "" {
		notice += "\n" + tool.TruncateTo(one.answer, 8000)
	}
	t.notify(notice)
}

// taskEndNote is how the notice of a task's end begins.
func taskEndNote(id string) string { return "CORE JOB " + id + " ENDED" }

// resume restarts the tasks of an earlier process that never ended.
func (t *tasks) resume(ctx context.Context) error {
	all, err := t.manager.List(ctx, 0)
	if err != nil {
		return err
	}
	for _, info := range all {
		own := strings.HasPrefix(info.ID, t.conversation.ID()+"-") && strings.HasSuffix(info.ID, taskIDSuffix)
		if own && info.Last == "" {
			if _, err := t.start(ctx, info.ID, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tasks) list() []*task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

// running returns how many tasks are under way.
func (t *tasks) running() int {
	n := 0
	for _, one := range t.list() {
		if !one.ended() {
			n++
		}
	}
	return n
}

// await waits for the tasks that are under way and reports whether there are
// notices. Only an app that takes a single turn waits: elsewhere they come with
// the user's next message.
func (t *tasks) await(ctx context.Context) bool {
	if a := t.conversation.session.App(); a == nil || a.Runtime.Mode != "one_shot" {
		return false
	}
	for _, one := range t.list() {
		select {
		case <-one.done:
		case <-ctx.Done():
			return false
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.notices) > 0
}

// stop stops the tasks and waits until they have stopped.
func (t *tasks) stop() {
	all := t.list()
	for _, one := range all {
		one.cancel()
	}
	for _, one := range all {
		<-one.done
	}
}

// notify queues a notice for the model's next request.
func (t *tasks) notify(notice string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, notice)
}

func (t *tasks) takeNotices() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	notices := t.notices
	t.notices = nil
	return notices
}

// unreported returns the tasks whose end the model has not seen.
func (t *tasks) unreported() []string {
	t.mu.Lock()
	waiting := strings.Join(t.notices, "\n")
	t.mu.Unlock()
	var ids []string
	for _, one := range t.list() {
		id := one.conversation.ID()
		if one.ended() && !strings.Contains(waiting, taskEndNote(id)) {
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// firstMention is the index of the first result that names a task; -1: there is
// none.
func firstMention(all []compact.Message, id string) int {
	return slices.IndexFunc(all, func(m compact.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			return p.Result != nil && strings.Contains(p.Result.Text(), id)
		})
	})
}
