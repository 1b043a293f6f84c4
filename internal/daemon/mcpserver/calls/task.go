package calls

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/gate/approval"
	"callgate/tool"
)

// TasksExtension is the extension of the protocol by which a client polls a long call.
const TasksExtension = "io.modelcontextprotocol/tasks"

// SupportsTasks reports whether a client polls calls that became tasks.
func SupportsTasks(c *sdk.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, declared := c.Extensions[TasksExtension]
	return declared
}

// maxTasks is how many calls of one client are kept as tasks. Of more, the one that ended
// first is left to the journal, which has its result.
const maxTasks = 256

// Task is a call that became a task, as far as it is. Its ID is the call's.
type Task struct {
	ID        string
	Began     time.Time
	Changed   time.Time
	Message   string              // what it does, or waits for
	Questions sdk.InputRequestMap // the client must answer these, by AnswerTask
	Cancelled bool
	Ended     *Outcome // nil: it runs
	Tool      string   // by the client's name for it
}

// taskPart is what a call that became a task keeps beside the call. The mutex of the
// pending call guards it.
type taskPart struct {
	tool      string
	began     time.Time
	changed   time.Time
	cancelled bool
	form      bool // the client shows forms to its human
	asked     int  // the questions so far
	// open are the questions that the client has not answered, by the keys that it
	// was given: each is used once in the life of a task.
	open map[string]*askedPart
}

// askedPart is one part of a question that a client was asked.
type askedPart struct {
	question *question.Question
	key      string // in the question
}

// becomeTask has the call go on without a request. It stays attended: its questions
// wait for the client that polls.
func (a *attendance) becomeTask() Outcome {
	now := time.Now()
	p := a.pending
	p.mu.Lock()
	p.task = &taskPart{
		tool: a.request.Tool, began: now, changed: now, form: question.SupportsForms(a.request.Capabilities),
		open: map[string]*askedPart{},
	}
	p.mu.Unlock()
	c := a.calls
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks == nil {
		c.tasks = map[string]*pending{}
	}
	c.tasks[p.id] = p
	if len(c.tasks) > maxTasks {
		c.dropEndedTask()
	}
	return Outcome{Task: p.poll()}
}

// dropEndedTask forgets the task that ended first.
func (c *Calls) dropEndedTask() {
	ended := slices.DeleteFunc(slices.Collect(maps.Values(c.tasks)), func(p *pending) bool { return !p.over() })
	if len(ended) > 0 {
		delete(c.tasks, slices.MinFunc(ended, func(a, b *pending) int { return a.task.began.Compare(b.task.began) }).id)
	}
}

func (p *pending) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Task returns a call of this client that became a task, or nil.
func (c *Calls) Task(id string) *Task {
	if p := c.taskCall(id); p != nil {
		return p.poll()
	}
	return nil
}

func (c *Calls) taskCall(id string) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tasks[id]
}

// poll looks how far the call is, and takes the question that it asks.
func (p *pending) poll() *Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.task
	out := &Task{ID: p.id, Tool: t.tool, Began: t.began, Changed: t.changed, Cancelled: t.cancelled}
	if p.over() {
		out.Ended = &Outcome{Result: p.result}
		if p.result.Error != nil {
			out.Ended.MissingCapability = p.link.missingCapability(p.result.Call)
		}
		return out
	}
	select {
	case q := <-p.link.questions:
		p.askPolled(q)
	default:
	}
	out.Changed = t.changed
	if len(t.open) > 0 {
		out.Questions = sdk.InputRequestMap{}
		for key, part := range t.open {
			out.Questions[key] = part.question.Parts[part.key]
		}
	}
	switch {
	case p.waiting != nil:
		out.Message = p.waiting.Summary
	default:
		out.Message = fmt.Sprintf("%s runs", t.tool)
	}
	return out
}

// askPolled puts a question before the client that polls, if it can answer it. An
// approval may be answered elsewhere instead.
func (p *pending) askPolled(q *question.Question) {
	t := p.task
	t.changed = time.Now()
	switch {
	case q.Parts != nil && (!q.Approval || t.form):
		t.asked++
		for key := range q.Parts {
			t.open[fmt.Sprintf("%d.%s", t.asked, key)] = &askedPart{q, key}
		}
	case !q.Approval:
		q.Reply(question.Answer{})
	}
}

// AnswerTask gives a client's answers to the questions of a task. Those to none that is
// open are ignored. It reports whether there is such a task.
func (c *Calls) AnswerTask(id string, answers sdk.InputResponseMap) bool {
	p := c.taskCall(id)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.task
	parts := map[*question.Question]sdk.InputResponseMap{}
	for key, answer := range answers {
		if part := t.open[key]; part != nil {
			if parts[part.question] == nil {
				parts[part.question] = sdk.InputResponseMap{}
			}
			parts[part.question][part.key] = answer
		}
	}
	for q, given := range parts { // the parts of a question are answered together
		q.Reply(question.Answer{Parts: given})
		maps.DeleteFunc(t.open, func(_ string, part *askedPart) bool { return part.question == q })
		t.changed = time.Now()
	}
	return true
}

// CancelTask stops a call that became a task. One that waits for a human is
// refused. It reports whether there is such a task.
func (c *Calls) CancelTask(id string) bool {
	p := c.taskCall(id)
	if p == nil {
		return false
	}
	p.mu.Lock()
	if !p.over() {
		p.task.cancelled, p.task.changed = true, time.Now()
	}
	p.mu.Unlock()
	p.cancel()
	return true
}

// refuseStopped refuses the approval of a task that was cancelled while it waited: nobody
// is asked any more.
func (p *pending) refuseStopped(waiting *tool.Result) {
	p.mu.Lock()
	stopped := p.task != nil && p.task.cancelled
	p.mu.Unlock()
	if stopped {
		by := approval.Voucher{By: p.calls.Client + ", which cancelled it", Session: p.session}
		_ = p.calls.Kernel.Approvals.AnswerVouched(context.WithoutCancel(p.ctx), by, waiting.Approval, approval.Answer{})
	}
}

// Stopped reports whether a task ended because it was cancelled.
func (t *Task) Stopped() bool {
	return t.Cancelled && t.Ended != nil && t.Ended.Result.Status != tool.Success
}
