// Package undo has the command that puts files back to what they were before calls
// changed them.
package undo

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

const op = "cli.undo"

const long = `Put files back to what they were before calls changed them. Without an argument it
is the last turn, or call of another client, that changed files in this folder and is
not undone yet; again, it is the one before. With the ID of a call, it is that call.

First it shows what it would do, then it asks. A file that somebody else wrote since,
an agent or a person, is not put back: it is said who wrote it, and when, and nothing
is done, unless --skip leaves such files as they are, or --force, which only a person
at a terminal may say, writes over them.

An undo is on record like any call, and can be taken back: --redo. What a command of
the shell changed without naming it is not kept, and that is said. How much is kept,
and for how long, says CALLGATE_UNDO: see docs/guides/undo.md.`

// undo is undo.
type undo struct {
	*command.Env
	target  protocol.UndoTarget
	request protocol.Undo
	list    bool
	dryRun  bool
	yes     bool
}

// Commands returns the command undo.
func Commands(e *command.Env) []*cobra.Command {
	u := &undo{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "undo [CALL]", Short: "Put files back to what they were before an agent changed them", Long: long,
		Example: `  callgate undo                       the last turn that changed files here
  callgate undo --dry-run             only show what it would do
  callgate undo --list
  callgate undo --turn 3              the third turn, and all that came after it
  callgate undo c1x9z                 one call
  callgate undo --redo                take the last undo back`,
		Args: cobra.MaximumNArgs(1),
	}, u.run)
	f := c.Flags()
	f.IntVar(&u.target.Turn, "turn", 0, "the turn `N` of the conversation, and all that came after it")
	f.StringVar(&u.target.Conversation, "conversation", "", "of the conversation `ID` (default the last in this folder)")
	f.BoolVar(&u.target.Redo, "redo", false, "take the last undo back")
	f.BoolVar(&u.list, "list", false, "list what changed files, the newest first")
	f.BoolVar(&u.dryRun, "dry-run", false, "show what it would do, and do nothing")
	f.BoolVar(&u.request.Skip, "skip", false, "leave files as they are that somebody else wrote since")
	f.BoolVar(&u.request.Force, "force", false, "put those back too; what was written since is lost from them")
	f.BoolVar(&u.request.Rewind, "rewind", false, "cut the conversation back, too: the model no longer sees those turns")
	f.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	e.BindToken(c)
	return []*cobra.Command{c}
}

func (u *undo) run(ctx context.Context, args []string) error {
	if err := u.check(args); err != nil {
		return err
	}
	folder, err := u.WorkspaceDir()
	if err != nil {
		return err
	}
	u.target.Workspace = folder
	return u.WithKey(ctx, func(k *command.Kernel) error {
		if err := u.findConversation(ctx, k); err != nil {
			return err
		}
		if u.list {
			return u.runList(ctx, k)
		}
		return u.show(ctx, k)
	})
}

// show shows what an undo would do, and does it if it may.
func (u *undo) show(ctx context.Context, k *command.Kernel) error {
	p, err := client.NewUndo(k.Client).Preview(ctx, u.target)
	if err != nil {
		return err
	}
	if u.dryRun && u.JSON {
		return u.WriteJSON(p)
	}
	if !u.JSON {
		if err := u.Style(u.Stdout).UndoPreview(u.Stdout, p); err != nil {
			return command.WriteError(err)
		}
	}
	if u.dryRun {
		return nil
	}
	return u.carryOut(ctx, k, p)
}

// check refuses flags that do not go together.
func (u *undo) check(args []string) error {
	if len(args) == 1 {
		u.target.Call = strings.TrimSpace(args[0])
	}
	conflict := ""
	switch t := u.target; {
	case len(args) == 1 && t.Call == "":
		conflict = "the ID of the call is empty"
	case t.Call != "" && (t.Turn != 0 || t.Conversation != "" || t.Redo):
		conflict = "a call is named already: --turn, --conversation and --redo choose something else"
	case t.Redo && t.Turn != 0:
		conflict = "--redo takes an undo back, not a turn"
	case t.Turn < 0:
		conflict = fmt.Sprintf("there is no turn %d; they are counted from 1", t.Turn)
	case u.request.Skip && u.request.Force:
		conflict = "--skip leaves files as they are, and --force writes over them: say one"
	case u.request.Rewind && (t.Call != "" || t.Redo):
		conflict = "--rewind cuts turns off a conversation, not a call or an undo"
	}
	if conflict == "" {
		return nil
	}
	return tool.Errorf(op, tool.Invalid, "%s", conflict).WithHint("see callgate undo --help")
}

// findConversation replaces the first letters of an ID by the ID.
func (u *undo) findConversation(ctx context.Context, k *command.Kernel) error {
	if u.target.Conversation == "" {
		return nil
	}
	list, err := k.Conversations(ctx, 0)
	if err != nil {
		return err
	}
	found, ok, err := command.FindByPrefix(list, u.target.Conversation, "conversations",
		func(c protocol.ConversationInfo) string { return c.ID })
	if err != nil {
		return err
	}
	if !ok {
		return tool.Errorf(op, tool.NotFound, "there is no conversation %s", tool.Truncate(u.target.Conversation)).
			WithHint("callgate sessions list shows them")
	}
	u.target.Conversation = found.ID
	return nil
}

func (u *undo) runList(ctx context.Context, k *command.Kernel) error {
	list, err := client.NewUndo(k.Client).List(ctx, u.target)
	if err != nil {
		return err
	}
	const none = "nothing that changed files here is kept"
	return command.WriteList(u.Env, list, none, func() error { return u.Style(u.Stdout).UndoItems(u.Stdout, list) })
}

// carryOut asks, and puts the files back.
func (u *undo) carryOut(ctx context.Context, k *command.Kernel, p protocol.UndoPreview) error {
	request := u.request
	request.UndoTarget, request.Shown, request.By = u.target, p.ID, u.UserName()
	if conflicts(p) == 0 || request.Skip || request.Force { // else the kernel says what is in the way
		if changes(p) == 0 && !request.Rewind {
			if u.JSON {
				return u.WriteJSON(protocol.Undone{Preview: p, Put: []string{}})
			}
			u.Status("there is nothing to put back")
			return nil
		}
		yes, err := u.ask(ctx, k, p)
		if err != nil {
			return err
		}
		if !yes {
			u.Status("nothing was changed")
			return command.Exit(command.ExitDenied)
		}
	}
	done, err := client.NewUndo(k.Client).Do(ctx, request)
	if err != nil {
		return err
	}
	return u.tell(done)
}

// ask asks the person. What writes over another's work, or puts rules back, needs more
// than a yes where the kernel can ask for more.
func (u *undo) ask(ctx context.Context, k *command.Kernel, p protocol.UndoPreview) (bool, error) {
	question := "put back " + amount.Of(changes(p), "file") + "?"
	switch {
	case u.request.Rewind && changes(p) == 0:
		question = "cut the conversation back?"
	case u.request.Rewind:
		question = "put back " + amount.Of(changes(p), "file") + ", and cut the conversation back?"
	case p.Redo:
		question = "take the undo back, in " + amount.Of(changes(p), "file") + "?"
	}
	if u.request.Force && conflicts(p) > 0 {
		question = "write over " + amount.Of(conflicts(p), "file") + " that somebody else wrote since, and " + question
	}
	if u.request.Force || len(p.Rules) > 0 {
		return u.Consent(ctx, k, u.yes, question)
	}
	return u.Confirm(u.yes, question)
}

// tell says what was done.
func (u *undo) tell(done protocol.Undone) error {
	if u.JSON {
		if err := u.WriteJSON(done); err != nil {
			return err
		}
	} else {
		text := "put back " + amount.Of(len(done.Put), "file")
		if done.Call != "" {
			text += " (call " + done.Call + ")"
		}
		if n := len(done.Left); n > 0 {
			text += "; " + amount.As(n, "file was left as it is", "files were left as they are")
		}
		if done.Rewound {
			text += "; the conversation is cut back"
		}
		u.Status("%s", text)
		for _, f := range done.Failed {
			u.Status("callgate: %s: %s", f.Path, f.Why)
		}
		if done.Call != "" && !done.Preview.Redo {
			u.Status("%s undo --redo takes that back", u.Self())
		}
	}
	if len(done.Failed) > 0 {
		return command.Exit(command.ExitFailed)
	}
	return nil
}

// conflicts counts the files that somebody else wrote since.
func conflicts(p protocol.UndoPreview) (n int) {
	for _, f := range p.Files {
		if f.Conflict != nil {
			n++
		}
	}
	return n
}

// changes counts the files that can be put back.
func changes(p protocol.UndoPreview) (n int) {
	for _, f := range p.Files {
		if f.NotKept == "" {
			n++
		}
	}
	return n
}
