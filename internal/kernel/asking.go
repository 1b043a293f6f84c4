package kernel

import (
	"context"
	"errors"
	"time"

	"callgate/internal/control"
	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/questions"
	"callgate/internal/question"
	"callgate/tool"
)

// openQuestions makes the queue of what agents ask their users, and registers ask_user.
func openQuestions(k *Kernel) error {
	k.Questions = questions.New(questions.Options{
		Documents: k.database.Stores().Documents, Authority: k.Approvals, Secrets: k.vault, Journal: k.Journal,
		User: k.user, Log: k.log,
	})
	k.Tokens.OnRevoke(k.Questions.WithdrawToken)
	return k.Register("questions", control.AskTool(asking{k}.ask))
}

// asking asks users.
type asking struct{ *Kernel }

// ask asks the user of a call's session, and waits for the answer. If the asker is
// cut off, the question stays, and the call that is made again finds it.
func (k asking) ask(ctx context.Context, call tool.Call, q question.Question) (question.Result, error) {
	const op = "context_builder.ask_user"
	s, err := k.Sessions.Get(call.Principal.Session)
	if err != nil {
		return question.Result{}, err
	}
	switch {
	case k.key == "" || call.Principal.Daemon:
		return question.Result{}, tool.Errorf(op, tool.Unavailable, "nobody can answer a question here").
			WithHint("go on without the answer, and say what you assumed")
	case k.Permissions.Table.Of(s.ID()).Unattended:
		return question.Result{}, tool.Errorf(op, tool.Unavailable, "nobody is there to answer: this run is unattended").
			WithHint("go on without the answer, and say what you assumed")
	}
	asked, err := k.Questions.Ask(ctx, questions.Request{
		Question: q, Call: call.ID, Principal: call.Principal, Workspace: s.Workspace(), AppFile: s.Loaded().AppFile(),
		Asker: s.Caller().Requester(),
	})
	if err == nil {
		asked, err = k.Questions.Wait(ctx, asked.ID)
	}
	if err != nil {
		return question.Result{}, k.stopped(ctx, call, asked.ID, err)
	}
	return asked.Outcome(), nil
}

// stopped withdraws the question of a conversation whose user stopped the turn. A
// turn that was cut off is resumed, and a client may come back for the answer.
func (k asking) stopped(ctx context.Context, call tool.Call, id string, why error) error {
	var cutOff history.Interruption
	_, err := k.Conversations.Get(call.Principal.Session)
	switch {
	case errors.As(context.Cause(ctx), &cutOff):
		return errors.Join(why, question.ErrKept)
	case id != "" && ctx.Err() != nil && err == nil:
		_ = k.Questions.Withdraw(context.WithoutCancel(ctx), id) // else it expires
	}
	return why
}

// approvalOf is who asked a question, as an approval says it.
func approvalOf(r questions.Request) approval.Request {
	asks := tool.ID{Namespace: control.Namespace, Name: "ask_user"}
	return approval.Request{
		Call:  tool.Call{ID: r.Call, Principal: r.Principal, Tool: asks},
		Asker: r.Asker, Workspace: r.Workspace, AppFile: r.AppFile,
	}
}

// collectAnswer returns what the user answered, or after so long that they have not.
func (s controlSession) collectAnswer(
	ctx context.Context, r questions.Request, wait time.Duration,
) (*tool.Result, error) {
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	now, err := s.kernel.Questions.Wait(within, r.ID)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case now.State == questions.Pending:
		return &tool.Result{
			Status: tool.Waiting, Call: r.Call, Approval: r.ID,
			Summary: "the user has not answered yet (a human must answer; then approvals.collect gives the answer)",
		}, nil
	case err != nil:
		return nil, err
	}
	told := now.Outcome()
	result, err := tool.OK(told.Summary(), told)
	if err == nil {
		result.Call = r.Call
	}
	return result, err
}
