package kernel

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"callgate/internal/conversation/history"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/hooks"
	"callgate/internal/kernel/skillruns"
	"callgate/internal/kernel/undoing"
	"callgate/internal/search/learned"
	"callgate/internal/task"
	"callgate/internal/undo"
	"callgate/tool"
)

// undoVariable says what is kept of files before calls change them: see undo.ParseLimits.
const undoVariable = "CALLGATE_UNDO"

// openImages opens the store of what files were before calls changed them.
func openImages(k *Kernel, cfg Config) (*undo.Store, error) {
	limits := cfg.Undo
	if text := os.Getenv(undoVariable); text != "" && limits == (undo.Limits{}) {
		var err error
		if limits, err = undo.ParseLimits(text); err != nil {
			return nil, &tool.Error{Op: "kernel.Open", Kind: tool.Invalid, Message: undoVariable + " cannot be read", Err: err}
		}
	}
	return undo.Open(k.state.Undo(), undo.Options{
		Limits: limits, Log: k.log, Secret: func(text []byte) bool { return !bytes.Equal(k.vault.Scrub(text), text) },
	}), nil
}

// forgetful deletes conversations, with what is kept of the files that they changed and of their hooks, and with
// what their searches taught.
type forgetful struct {
	history.Deleter
	images  *undo.Store
	hooks   *hooks.Engine
	skills  *skillruns.Table
	learned *learned.Store
}

// Delete removes a conversation.
func (f forgetful) Delete(ctx context.Context, id string) error {
	if err := f.Deleter.Delete(ctx, id); err != nil {
		return err
	}
	return errors.Join(f.images.Forget(id), f.hooks.Forget(ctx, id), f.skills.Delete(ctx, id),
		f.learned.ForgetSession(ctx, id))
}

// openUndo makes what undoes calls.
func openUndo(k *Kernel) (err error) {
	tasks := k.database.Stores().Tasks
	k.Undo, err = undoing.New(undoing.Options{
		Store: k.images, Gate: k.gate, Tools: k.Tools, Conversations: k.Conversations, Authority: k.Approvals,
		Caller: k.builder.Bare, Askers: k.askers, User: k.user, Rewind: k.Skills.Runs.Rewind,
		Folder: func(_ context.Context, folder string) (string, error) {
			full, err := filepath.Abs(folder)
			if err == nil {
				full, err = filepath.EvalSymlinks(full)
			}
			if err != nil {
				return "", tool.Errorf("undo", tool.Invalid, "the folder %s cannot be opened: %w", tool.Truncate(folder), err)
			}
			return full, nil
		},
		Jobs: func(ctx context.Context, conversation string) (ids []string, err error) {
			list, err := tasks.List(ctx, task.Query{Parent: conversation})
			for _, t := range list {
				ids = append(ids, t.ID)
			}
			return ids, err
		},
		Parent: func(ctx context.Context, conversation string) string {
			t, _ := tasks.Get(ctx, conversation) // a conversation that is no task has none
			return t.Parent
		},
		Requester: func(conversation string) (approval.Requester, bool) {
			c, err := k.Conversations.Get(conversation)
			if err != nil {
				return approval.Requester{}, false
			}
			return c.Session().Caller().Requester(), true
		},
		RuleFiles: apps.RuleFiles(k.Apps),
	})
	return err
}
