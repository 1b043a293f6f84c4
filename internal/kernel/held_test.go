package kernel_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
	"callgate/tool"
)

// A journal that takes no record holds every change that must be on record: it is
// refused before anything changes, not after.
func TestHeldJournalChangesNothing(t *testing.T) {
	kerneltest.OnEachStorage(t, testHeldJournalChangesNothing)
}

func testHeldJournalChangesNothing(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	k, err := kernel.Open(t.Context(), kernel.Config{State: state})
	check(t, err)
	key, err := k.State().HumanKey()
	check(t, err)
	human := approval.Credential{Key: key, PID: approval.Unknown, By: "anna"}
	check(t, k.Secrets.Set(human, "OLD_SECRET", []byte("a value that stays")))
	check(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "kept"}))
	check(t, k.Close())
	check(t, os.Remove(filepath.Join(state, "callgate.db")))

	k, err = kernel.Open(t.Context(), kernel.Config{State: state})
	check(t, err)
	ctx := t.Context()
	for name, change := range map[string]func() error{
		"a secret is set":     func() error { return k.Secrets.Set(human, "NEW_SECRET", []byte("another value")) },
		"a secret is deleted": func() error { return k.Secrets.Delete(human, "OLD_SECRET") },
		"a token is made": func() error {
			_, _, err := k.Tokens.Create(ctx, human, token.Token{Name: "t", Role: token.Approver, Expires: time.Now().Add(time.Hour)})
			return err
		},
		"a grant is made": func() error {
			_, err := k.Grants.Keep(ctx, human, lasting.Grant{
				Tool: "filesystem.write", Text: "x", Match: []byte(`{"path":"x"}`),
			})
			return err
		},
		"an approval": func() error {
			return k.Approvals.Submit(ctx, approval.Request{ID: "a1", Deadline: time.Now().Add(time.Hour)})
		},
	} {
		if err := change(); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	unchanged(t, ctx, k, human)
	check(t, k.Close())
}

func unchanged(t *testing.T, ctx context.Context, k *kernel.Kernel, human approval.Credential) {
	t.Helper()
	stored := 0
	list, err := k.Secrets.List(t.Context(), human)
	check(t, err)
	for _, s := range list {
		if s.Name == "NEW_SECRET" {
			t.Error("the secret was stored")
		}
		if s.Name == "OLD_SECRET" {
			stored++
		}
	}
	if stored != 1 {
		t.Error("the secret was deleted")
	}
	if tokens, err := k.Tokens.List(ctx, human); err != nil || len(tokens) > 0 {
		t.Errorf("tokens: %v, %v", tokens, err)
	}
	if grants := k.Grants.List(); len(grants) > 0 {
		t.Errorf("grants: %v", grants)
	}
	if pending, err := k.Approvals.List(ctx, "", 0); err != nil || len(pending) > 0 {
		t.Errorf("approvals: %v, %v", pending, err)
	}
}
