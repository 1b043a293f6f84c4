package redaction_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/redaction"
	"callgate/internal/secret"
	"callgate/tool"
)

// TestAttemptsAreScrubbed: what a model or a provider said in a failed request holds no secret either,
// and what the tool keeps of it is not changed.
func TestAttemptsAreScrubbed(t *testing.T) {
	const value = "correct-horse-battery-staple"
	vault, err := secret.Open(filepath.Join(t.TempDir(), "secrets.box"))
	if err == nil {
		err = vault.Set("PASSWORD", []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
	attempts := []tool.Attempt{{Model: "a/b", Error: "the model declined: " + value}}
	r := &tool.Result{Attempts: attempts}
	(&redaction.Redactor{Secrets: vault}).Scrub(r)
	if strings.Contains(r.Attempts[0].Error, value) || !strings.Contains(attempts[0].Error, value) {
		t.Errorf("the result has %q, and the tool %q", r.Attempts[0].Error, attempts[0].Error)
	}
}
