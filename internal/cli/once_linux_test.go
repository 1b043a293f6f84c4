package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person at a terminal reads what a call did once.
func TestResultIsReadOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, []byte("app: {name: demo}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := onTerminal(t, newState(t), nil, "tools", "call", "--app", file, "filesystem.write", "--path", "note.txt", "--content", "hi")
	p.sees("created note.txt: 1 line, 2 bytes")
	p.ends(0)
	if all := p.all.String(); strings.Count(all, "created note.txt") != 1 {
		t.Errorf("it is said more than once:\n%s", all)
	}
}
