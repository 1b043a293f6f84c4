package conversations

import (
	"context"
	"strings"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/tool"
)

// sayPending says what an event has wait for a human.
func (p *turnPrinter) sayPending(e protocol.TurnEvent) {
	if e.Approval != nil {
		p.sayWaiting(*e.Approval)
	}
	if q := e.Question; q != nil && q.State == protocol.QuestionPending {
		p.sayAsked(*q)
	}
}

// sayAsked says what the agent asks, until when it waits, and how it is answered.
func (p *turnPrinter) sayAsked(r protocol.Question) {
	p.Status("callgate: %s asks, and waits for %s at most: %s", strings.TrimSpace("the agent "+r.Asker.Path),
		r.Deadline.Sub(r.AskedAt).Round(time.Second), tool.Truncate(r.Question.Text))
	p.HowToAnswerQuestion(r.ID)
}

// askQuestion has a question of the agent answered: here, when a person sits here.
func (p *turnPrinter) askQuestion(ctx context.Context, r protocol.Question) {
	if r.State != protocol.QuestionPending {
		return
	}
	p.endLine()
	if !p.conversation.Human {
		p.sayAsked(r)
		return
	}
	open, answered := context.WithCancel(ctx)
	defer answered()
	p.mu.Lock()
	p.open[r.Call] = answered
	isSettled := p.settled[r.ID]
	p.mu.Unlock()
	if isSettled {
		return
	}
	d := p.Questioner(ctx, func(reply question.Reply) error {
		answer := protocol.AnswerQuestion{Reply: reply, By: p.UserName()}
		_, err := client.QuestionsOf(p.kernel.Client).Answer(ctx, r.ID, answer)
		return err
	})
	left, err := d.Run(open, r)
	switch {
	case left:
		p.Status("left waiting; answer it with: %s questions answer %s", p.Self(), r.ID)
	case err == nil || ctx.Err() != nil:
	case open.Err() != nil:
		p.Status("\nanswered elsewhere")
	default:
		p.Status("callgate: %s", err)
	}
}
