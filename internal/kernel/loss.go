package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"callgate/internal/gate/approval"
	"callgate/tool"
)

// Warnings says what is wrong with the state directory, for whoever uses the kernel:
// one sentence each, with what to do.
func (k *Kernel) Warnings() []string {
	var list []string
	if reason := k.Journal.Held(); reason != nil {
		list = append(list, sentence(reason))
	} else if err := k.Journal.Err(); err != nil {
		list = append(list, sentence(err))
	}
	if err := k.database.Problem(); err != nil && !errors.Is(k.held, err) {
		list = append(list, sentence(err))
	}
	if err := k.database.Stopped(); err != nil {
		list = append(list, sentence(err))
	}
	if err := k.vault.Problem(); err != nil && tool.KindOf(err) != tool.Denied { // that one is among the exposed
		list = append(list, "the secret store cannot be used: "+sentence(err))
	}
	return append(list, k.state.Exposed()...)
}

// sentence is an error with what to do, without the names of functions.
func sentence(err error) string {
	var e *tool.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Message
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// AcceptLoss takes a person's word that the journal goes on although records were
// lost, and then goes on with what an earlier process left. It lets calls run, so it
// needs what a yes needs.
func (k *Kernel) AcceptLoss(ctx context.Context, who approval.Credential) error {
	if err := k.Approvals.HasPersonAuthority(who, k.askers(who)); err != nil {
		return err
	}
	if k.held != nil {
		return k.held
	}
	loss := k.Journal.Held()
	if loss == nil {
		return tool.Errorf("kernel.AcceptLoss", tool.Conflict, "the journal lost no records that nobody has accepted").
			WithHint("callgate log verify checks all of it")
	}
	note := fmt.Sprintf("%s accepted it: %s", cmp.Or(who.By, k.user, "a human"), loss)
	if err := k.Journal.AcceptLoss(ctx, note); err != nil {
		return err
	}
	return k.goOn(k.background.Context())
}
