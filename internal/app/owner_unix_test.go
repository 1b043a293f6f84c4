//go:build unix

package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/tool"
)

// An app file that somebody else owns or may write rules nobody, and what it
// includes neither.
func TestOthersAppFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const user = 54321 // of whom the system knows no name
	for _, tt := range []struct {
		name   string
		change func(folder string) error
		kind   tool.Kind
		want   string // "": it loads
	}{
		{"as it should be", func(string) error { return nil }, "", ""},
		{"read by a group", func(f string) error { return os.Chown(f+"/callgate.yaml", 0, user) }, "", ""},
		{"another user's", func(f string) error { return os.Chown(f+"/callgate.yaml", user, user) }, tool.Denied,
			"callgate.yaml is not read: user 54321 may change it (the owner) (chown 0 "},
		{"written by all", func(f string) error { return os.Chmod(f+"/callgate.yaml", 0o666) }, tool.Denied,
			"callgate.yaml is not read: anybody may change it (mode 0666) (chmod o-w "},
		{"written by a group", func(f string) error { return os.Chmod(f+"/callgate.yaml", 0o664) }, tool.Denied,
			"callgate.yaml is not read: the group "},
		{"behind another user's link", func(f string) error {
			if err := os.Link(f+"/callgate.yaml", f+"/real.yaml"); err != nil {
				return err
			}
			if err := os.Remove(f + "/callgate.yaml"); err != nil {
				return err
			}
			if err := os.Symlink("real.yaml", f+"/callgate.yaml"); err != nil {
				return err
			}
			return os.Lchown(f+"/callgate.yaml", user, user)
		}, tool.Denied, "user 54321 may change it (the owner)"},
		{"with another user's agent", func(f string) error { return os.Chown(f+"/agent.yaml", user, user) }, tool.Invalid,
			`"agent.yaml" is not read: user 54321 may change it (the owner)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{
				"callgate.yaml": "app: {app_id: shop}\ndev: {include: {agents: [agent.yaml]}}\n",
				"agent.yaml":    "id: helper\n",
			} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.change(folder); err != nil {
				t.Fatal(err)
			}
			_, err := app.LoadWith(filepath.Join(folder, "callgate.yaml"), agentKnown, app.Vars{Env: noEnv})
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if tool.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %s: %v\nwant %q", tool.KindOf(err), err, tt.want)
			}
		})
	}
}
