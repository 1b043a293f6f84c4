package kernel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// A database that was removed, emptied or replaced beside its anchor: the kernel
// starts and can be read, says what is missing, runs no call, and goes on when a
// person has accepted the loss, which is on record then.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"emptied": func(t *testing.T, path string) { check(t, os.Truncate(path, 0)) },
		"replaced": func(t *testing.T, path string) {
			other := t.TempDir()
			k, err := kernel.Open(t.Context(), kernel.Config{State: other})
			check(t, err)
			for range 20 {
				check(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "of another journal"}))
			}
			check(t, k.Close())
			data, err := os.ReadFile(filepath.Join(other, "callgate.db"))
			check(t, err)
			check(t, os.WriteFile(path, data, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			k, err := kernel.Open(t.Context(), kernel.Config{State: state})
			check(t, err)
			if list := k.Warnings(); len(list) > 0 {
				t.Errorf("at first: %q", list)
			}
			for range 5 {
				check(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "kept"}))
			}
			check(t, k.Close())
			lose(t, filepath.Join(state, "callgate.db"))
			loseTwice(t, state)
		})
	}
}

// loseTwice starts a kernel twice on a directory whose database was lost, and accepts
// the loss the second time.
func loseTwice(t *testing.T, state string) {
	for round := range 2 {
		k, err := kernel.Open(t.Context(), kernel.Config{State: state})
		check(t, err)
		warnings := strings.Join(k.Warnings(), "\n")
		if !strings.Contains(warnings, "journal.anchor") || !strings.Contains(warnings, "accept-loss") {
			t.Fatalf("it says %q", warnings)
		}
		if r := callHelp(t, k); r.Status != tool.Failure || r.Error.Kind != tool.Unavailable {
			t.Errorf("a call while records are missing: %+v", r)
		}
		if _, err := k.Journal.Read(t.Context(), journal.Query{}); err != nil {
			t.Error(err)
		}
		key, err := k.State().HumanKey()
		check(t, err)
		stranger := approval.Credential{Key: "not the key", PID: approval.Unknown}
		if err := k.AcceptLoss(t.Context(), stranger); tool.KindOf(err) != tool.Denied {
			t.Errorf("a stranger accepts: %v", err)
		}
		if round == 1 {
			check(t, k.AcceptLoss(t.Context(), approval.Credential{Key: key, PID: approval.Unknown, By: "anna"}))
			if list := k.Warnings(); len(list) > 0 {
				t.Errorf("after it was accepted: %q", list)
			}
			if r := callHelp(t, k); r.Error != nil && r.Error.Kind == tool.Unavailable {
				t.Errorf("a call after it was accepted: %+v", r)
			}
			found, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Noted, Newest: true, Limit: 1})
			if err != nil || len(found) != 1 || !strings.Contains(found[0].Note, "anna accepted") {
				t.Errorf("on record: %+v, %v", found, err)
			}
		}
		check(t, k.Close())
	}
}

func callHelp(t *testing.T, k *kernel.Kernel) *tool.Result {
	t.Helper()
	s, err := k.OpenSession(t.Context(), session.Spec{Workspace: t.TempDir()})
	check(t, err)
	defer s.Close()
	return s.Call(t.Context(), session.CallRequest{Name: "filesystem.list", Args: json.RawMessage(`{}`)})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
