package console

import (
	"context"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// waits is what waits for a human.
type waits struct {
	Approvals []protocol.Approval
	Questions []protocol.Question
	Proposals []protocol.Proposal
	Problem   string // why it is not known
}

// Count is how many things wait.
func (w waits) Count() int { return len(w.Approvals) + len(w.Questions) + len(w.Proposals) }

// notice is one thing that waits, for the browser's notification.
type notice struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Page string `json:"page"`
}

// notices says what waits in a line each.
func (w waits) notices() []notice {
	list := []notice{}
	for _, a := range w.Approvals {
		text := visible.Text(a.Call.Tool.Dotted()) + " waits for your approval"
		list = append(list, notice{a.ID, text, "/approvals/" + a.ID})
	}
	for _, q := range w.Questions {
		list = append(list, notice{q.ID, visible.Clip(q.Question.Text, 120), "/questions/" + q.ID})
	}
	for _, p := range w.Proposals {
		list = append(list, notice{p.ID, "proposed: " + visible.Clip(p.Title, 100), "/proposals/" + p.ID})
	}
	return list
}

// waits asks the kernel what waits. What a person may not see is left out, and said.
func (c *Console) waits(ctx context.Context, k *client.Client) (w waits) {
	var err error
	note := func(e error) {
		if e != nil && w.Problem == "" {
			w.Problem = asError(e).Error()
		}
	}
	w.Approvals, err = k.Approvals(ctx, protocol.ApprovalPending)
	note(err)
	w.Questions, err = client.QuestionsOf(k).List(ctx, protocol.QuestionPending)
	note(err)
	w.Proposals, err = client.NewProposals(k).List(ctx, protocol.ProposalPending)
	note(err)
	return w
}
