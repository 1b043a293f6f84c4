package calls

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/questions"
	asked "callgate/internal/question"
	"callgate/tool"
)

// # Questions of agents
//
// A call that asks the user (ask_user) is put to the client's human as a form, like an
// approval. A client without forms is told that the call waits, and how its end is
// collected; the human answers elsewhere.

// watchQuestions puts what the client's calls ask to its human, until the client leaves.
func (c *Calls) watchQuestions() {
	for r, err := range c.Kernel.Questions.Watch(c.ctx) {
		if err != nil {
			return // it can be answered elsewhere
		}
		l, ok := c.Kernel.Clients.Get(r.Call).(*link)
		if ok && r.State == questions.Pending && l.of != nil && l.of.calls == c && l.of.takes(r.ID) {
			go (&questioner{pending: l.of, asked: r}).run()
		}
	}
}

// takes reports whether nobody puts a question to the client yet.
func (p *pending) takes(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.questions[id] {
		return false
	}
	if p.questions == nil {
		p.questions = map[string]bool{}
	}
	p.questions[id] = true
	return true
}

// questioner puts one question to the client's human, until it is settled there or
// elsewhere.
type questioner struct {
	*pending
	asked questions.Request
}

func (q *questioner) run() {
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		_, _ = q.calls.Kernel.Questions.Wait(ctx, q.asked.ID) // an error ends the asking too
	}()
	q.setWaiting(&tool.Result{
		Status: tool.Waiting, Call: q.asked.Call, Approval: q.asked.ID,
		Summary: fmt.Sprintf("the user is asked: %s", tool.Truncate(q.asked.Question.Text)),
	})
	form, can := question.NewForm(q.asked.Question)
	for tries, note := 0, ""; ; {
		next := question.New(nil, true)
		if can && tries < maxTries && !q.calls.Approval.NoForms {
			next.Parts = sdk.InputRequestMap{question.ApprovalKey: form.Params(q.calls.Client, note)}
		}
		select {
		case q.link.asks() <- next:
		case <-settled:
			return
		}
		select {
		case answer := <-next.Answered():
			if tries++; answer.Automatic {
				tries = maxTries // a human may answer it elsewhere
				continue
			}
			if can {
				var done bool
				if note, done = q.settle(form, answer); done {
					return
				}
			}
		case <-settled:
			return
		}
	}
}

// settle takes an answer of the client's human, and reports whether the question is
// settled. It returns what was wrong with the answer.
func (q *questioner) settle(form *question.Form, got question.Answer) (note string, done bool) {
	reply, ok := form.Reply(got.Form())
	if !ok {
		return "", false
	}
	by := approval.Voucher{By: "the human at " + q.calls.Client, Session: q.session}
	// An answer outlives the request that brought it.
	_, err := q.calls.Kernel.Questions.AnswerVouched(context.WithoutCancel(q.ctx), by, q.asked.ID, reply)
	if err == nil || tool.KindOf(err) == tool.Conflict { // another answer was first
		return "", true
	}
	return "This could not be taken for an answer: " + err.Error(), false
}

func (p *pending) setWaiting(r *tool.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = r
}

// isQuestion reports whether a call waits for the answer to a question, and not for an
// approval.
func isQuestion(waiting *tool.Result) bool {
	return strings.HasPrefix(waiting.Approval, asked.IDPrefix)
}
