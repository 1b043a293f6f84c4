package cli

import (
	"cmp"
	"context"
	"time"

	"callgate/internal/cli/dialog"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// atTerminal reports whether a person can be asked here.
func (p *program) atTerminal() bool {
	_, in := terminal(p.Stdin)
	_, out := terminal(p.Stderr)
	return in && out
}

// pendingCall is a call that was made and has not been answered yet. When done is
// closed, result and err are set.
type pendingCall struct {
	done   chan struct{}
	result *tool.Result
	err    error
}

// ask makes a call. When a human must be asked it puts the question here, if a
// person sits here, and else says how it can be answered elsewhere. The request
// to the kernel stays open all the while, so that whoever ends this command
// cancels the call, even one that was approved and runs.
func (p *program) ask(ctx context.Context, k *kernel, s *client.Session, t protocol.Tool, call protocol.CallRequest) (*tool.Result, error) {
	if call.NoWait || t.Policy != "approve" {
		return s.Call(ctx, call)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &pendingCall{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.result, f.err = s.Call(ctx, call)
	}()
	request, err := pendingRequest(ctx, k, s.ID, f)
	if err != nil {
		return nil, err
	}
	if request != nil {
		left, err := p.answerRequest(ctx, k, s, f, *request)
		if err != nil {
			return nil, err
		}
		if left {
			cancel()
			<-f.done
			return &tool.Result{
				Status: tool.Waiting, Call: request.Call.ID, Approval: request.ID,
				Summary: request.Call.Tool.Dotted() + " was left waiting for a human",
			}, nil
		}
	}
	<-f.done
	return f.result, f.err
}

// pendingRequest returns the request that a call in a session waits for, or nil when
// the call was answered without one. The kernel tells of it only in its list,
// so the list is asked, often at first.
func pendingRequest(ctx context.Context, k *kernel, session string, f *pendingCall) (*protocol.Approval, error) {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		select {
		case <-f.done:
			return nil, nil
		case <-time.After(pause):
		}
		pending, err := k.Approvals(ctx, protocol.ApprovalPending)
		if err != nil {
			return nil, err
		}
		for _, r := range pending {
			if r.Call.Principal.Session == session {
				return &r, nil
			}
		}
	}
}

// answerRequest has a request answered, here or elsewhere; left says that the person
// here left it waiting.
func (p *program) answerRequest(ctx context.Context, k *kernel, s *client.Session, f *pendingCall, r protocol.Approval) (left bool, err error) {
	if !s.Human {
		p.status("callgate: %s waits for a human: %s", r.Call.Tool.Dotted(), r.Reason)
		p.howToAnswer(r.ID)
		return false, nil
	}
	open, answered := context.WithCancel(ctx)
	defer answered()
	go func() {
		<-f.done
		answered()
	}()
	d := dialog.Dialog{
		In: p.Stdin, Out: p.Stderr, Style: p.style(p.Stderr), By: p.userName(),
		// The call may end before the answer that lets it has come back, and an
		// editor is not closed under its user: neither stops with the question.
		Edit: func(text []byte) ([]byte, error) { return p.editor().Edit(ctx, text) },
		Answer: func(a protocol.Answer) error {
			_, err := k.Answer(ctx, r.ID, a)
			return err
		},
	}
	left, err = d.Run(open, r)
	switch {
	case err == nil || ctx.Err() != nil:
		return left, nil
	case open.Err() != nil:
		p.status("\nanswered elsewhere")
		return false, nil
	case tool.KindOf(err) == tool.Conflict:
		p.status("%s", err)
		return false, nil
	case tool.KindOf(err) == tool.Denied:
		p.status("callgate: %s", err)
		p.howToAnswer(r.ID)
		return false, nil
	}
	return false, err
}

// editor is the user's own. Its screen is not the answer, so that goes to
// standard error when standard output is not the terminal.
func (p *program) editor() dialog.Editor {
	e := dialog.Editor{Command: cmp.Or(p.Getenv("VISUAL"), p.Getenv("EDITOR")), Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr}
	if _, ok := terminal(p.Stdout); !ok {
		e.Stdout = p.Stderr
	}
	return e
}

// resultAfterCancel finds out what became of a session's call once this command was
// told to stop: the request was cancelled, and the session ends with its calls.
func (p *program) resultAfterCancel(ctx context.Context, k *kernel, s *client.Session) *tool.Result {
	if p.atTerminal() {
		p.status("") // after the ^C
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	e := &tool.Error{Op: "cli.call", Kind: tool.Cancelled, Message: "cancelled before the call was made"}
	out := &tool.Result{Status: tool.Failure, Error: e}
	if err := s.Close(ctx); err != nil {
		e.Message = "cancelled; whether the call has stopped cannot be told: " + err.Error()
	}
	records, _ := k.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 100})
	for _, r := range records {
		if r.Principal == nil || r.Principal.Session != s.ID {
			continue
		}
		out.Call = r.Call
		switch {
		case r.End != nil:
			e.Message, e.Hint = "cancelled: "+r.End.Summary, "the whole story: "+p.self()+" log show "+r.Call
		case r.Ask != nil && r.Ask.Verdict == protocol.VerdictWait:
			out.Approval = r.Ask.Approval
			e.Message = "cancelled; the call still waits for a human"
			e.Hint = "to drop it: " + p.self() + " approvals deny " + r.Ask.Approval
		case r.Kind == protocol.RecordKindBegun:
			e.Message, e.Hint = "cancelled; the call has not stopped yet", "how it ends: "+p.self()+" log show "+r.Call
		}
	}
	out.Summary = e.Message
	return out
}
