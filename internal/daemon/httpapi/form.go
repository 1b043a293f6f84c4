package httpapi

import (
	"context"
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/gate/approval"
	"callgate/internal/protocol"
	"callgate/tool"
)

// answerForm takes what a human said in a form of the client that has a conversation open:
// see [approval.Queue.AnswerVouched].
func (a *conversationRoutes) answerForm(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.FormAnswer
	if err := route.Read(r, &in); err != nil {
		return err
	}
	by, err := formHuman(r, in.Client)
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context()) // an answer outlives the request that brought it
	voucher := approval.Voucher{By: by, Session: c.Session().ID()}
	if in.Question != "" {
		if in.Reply == nil {
			return tool.Errorf("httpapi.form", tool.Invalid, "the reply to the question is missing")
		}
		if _, err := a.kernel.Questions.AnswerVouched(ctx, voucher, in.Question, *in.Reply); err != nil {
			return err
		}
		return route.Answer(w, struct{}{})
	}
	given := approval.Answer{Approve: in.Approve, Args: in.Args, Feedback: in.Feedback}
	if in.Remember != nil {
		given.Remember = &approval.Remember{Choice: in.Remember.Choice, Until: in.Remember.Until}
	}
	if err := a.kernel.Approvals.AnswerVouched(ctx, voucher, in.Approval, given); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

// maxClientName bounds the name that a client gives itself.
const maxClientName = 100

// formHuman names the human at a client that shows forms. No human uses a process that the
// kernel started.
func formHuman(r *http.Request, client string) (string, error) {
	_, overNetwork := route.LoginOf(r)
	switch {
	case overNetwork:
		return "", tool.Errorf("httpapi.form", tool.Denied, "a token says yes for itself, and not for a human at a form").
			WithHint("answer with a token of the role approver")
	case client == "":
		return "", tool.Errorf("httpapi.form", tool.Invalid, "the name of the client that showed the form is missing")
	case isKernelChild(r):
		return "", tool.Errorf("httpapi.form", tool.Denied, "this comes from inside the kernel: a tool shows no forms").
			WithHint("a human answers from another terminal")
	}
	return "the human at " + tool.TruncateTo(client, maxClientName), nil
}
