package kernel

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/source/mcp/oauth"
)

// A kernel seals the logins that an earlier version kept in plain files, and
// starts all the same when it cannot.
func TestOpenImportsLogins(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	tokens := filepath.Join(state, "mcp", "tokens")
	if err := os.MkdirAll(tokens, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"good.json": `{"access_token":"a-plain-token"}`, "bad.json": `{"access`} {
		if err := os.WriteFile(filepath.Join(tokens, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	k, err := Open(t.Context(), Config{State: state, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := oauth.NewSealed(k.database.Stores().Documents, k.vault).Load(t.Context(), "good")
	if err != nil || stored == nil || stored.Access != "a-plain-token" {
		t.Errorf("stored is %v, %v", stored, err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(tokens, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "bad.json" {
		t.Errorf("left are %v, %v", left, err)
	}
	if !strings.Contains(log.String(), "bad.json") || strings.Contains(log.String(), "a-plain-token") {
		t.Errorf("the log says %s", log.String())
	}
}
