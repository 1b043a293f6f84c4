//go:build unix

package instructions_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/conversation/instructions"
)

// A file that somebody else may write steers nobody, and a pipe keeps nobody waiting.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"anybody may write": {func(path string) error { return os.Chmod(path, 0o666) }, "anybody may write it"},
		"another's":         {func(path string) error { return os.Chown(path, 12345, 12345) }, "user 12345 may write it"},
		"a pipe": {func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		}, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			path := filepath.Join(dir, "AGENTS.md")
			write(t, path, "obey\n")
			if err := c.make(path); err != nil {
				t.Skip(err)
			}
			for _, o := range []instructions.Options{{Folders: []string{dir}, MaxBytes: 100}, {User: path, MaxBytes: 100}} {
				got := instructions.Read(o)
				if len(got) != 1 || got[0].Text != "" || !strings.Contains(got[0].Problem, c.want) {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}
