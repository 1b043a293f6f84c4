package command

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"

	"callgate/internal/cli/dialog"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/tool"
)

// Confirm asks the person at the terminal a question, unless they said yes
// already.
func (e *Env) Confirm(already bool, about string) (bool, error) {
	if already {
		return true, nil
	}
	if !e.AtTerminal() {
		return false, tool.Errorf("cli", tool.Denied, "there is no terminal here to ask a person").
			WithHint("run this in a terminal, or say --yes once you have read it")
	}
	fmt.Fprintf(e.Stderr, "%s [y/N] ", text.Safe(about))
	line, err := bufio.NewReader(e.Stdin).ReadString('\n')
	if err != nil {
		return false, &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "nobody answered", Err: err}
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", nil
}

// Editor is the user's editor. Its screen is not the answer, so it goes to
// standard error when standard output is not the terminal.
func (e *Env) Editor() dialog.Editor {
	ed := dialog.Editor{
		Command: cmp.Or(e.Getenv("VISUAL"), e.Getenv("EDITOR")), Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr,
	}
	if _, ok := Terminal(e.Stdout); !ok {
		ed.Stdout = e.Stderr
	}
	return ed
}

// Dialog asks the person at the terminal about an approval of a session. ctx is the
// command's: the call may end before its answer has come back, and an editor is
// not closed while its user writes, so neither ends with the question.
func (e *Env) Dialog(ctx context.Context, k *Kernel, approval, session string) *dialog.Dialog {
	return &dialog.Dialog{
		In: e.Stdin, Out: e.Stderr, Style: e.Style(e.Stderr), By: e.UserName(),
		Edit: func(text []byte) ([]byte, error) { return e.Editor().Edit(ctx, text) },
		Answer: func(a protocol.Answer) error {
			_, err := k.Answer(ctx, approval, a)
			return err
		},
		Others: func() (others []protocol.Approval) {
			list, _ := k.Approvals(ctx, protocol.ApprovalPending) // without a list, this one is answered alone
			for _, r := range list {
				if r.ID != approval && r.Call.Principal.Session == session {
					others = append(others, r)
				}
			}
			return others
		},
		AnswerOther: func(id string, a protocol.Answer) error {
			_, err := k.Answer(ctx, id, a)
			return err
		},
	}
}

// Questioner puts what an agent asks to the person at the terminal.
func (e *Env) Questioner(ctx context.Context, answer func(question.Reply) error) *dialog.Questioner {
	return &dialog.Questioner{
		In: e.Stdin, Out: e.Stderr, Style: e.Style(e.Stderr), Answer: answer,
		Edit: func(text []byte) ([]byte, error) { return e.Editor().Edit(ctx, text) },
	}
}

// HowToAnswerQuestion prints the commands that answer a question.
func (o *Output) HowToAnswerQuestion(id string) {
	o.Status("  show      %s questions show %s", o.Self(), id)
	o.Status("  answer    %s questions answer %s", o.Self(), id)
}
