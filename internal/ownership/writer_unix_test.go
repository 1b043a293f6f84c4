//go:build unix

package ownership

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrivateGroup(t *testing.T) {
	const users = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:\neve:x:1002:50::/:\nmax:x:1003:50::/:\n"
	const groups = "root:x:0:\nann:x:1000:\nbob:x:1001:bob,ann\nstaff:x:50:\n"
	for _, tt := range []struct {
		name, users, groups, uid, gid string
		want                          bool
	}{
		{"a user's own", users, groups, "1000", "1000", true},
		{"with the user as member", users, "ann:x:1000:ann\n", "1000", "1000", true},
		{"with another member", users, groups, "1001", "1001", false},
		{"of another user", users, groups, "1000", "1001", false},
		{"the main group of two", users, groups, "1002", "50", false},
		{"unknown to the list of groups", users, "", "1000", "1000", false},
		{"unknown to the list of users", "", groups, "1000", "1000", false},
		{"listed twice", users, groups + "more:x:1000:bob\n", "1000", "1000", false},
		{"damaged lists", "ann:x:1000", "ann:x", "1000", "1000", false},
	} {
		if got := privateGroup(tt.users, tt.groups, tt.uid, tt.gid); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A member that is neither the user nor unnamed is never overlooked.
func FuzzPrivateGroup(f *testing.F) {
	f.Add("ann:x:1000:1000\n", "ann:x:1000:\n")
	f.Add("", ":::")
	f.Fuzz(func(t *testing.T, users, groups string) {
		if privateGroup(users, groups+"\nann:x:1000:mallory\n", "1000", "1000") {
			t.Error("a group with another member is private")
		}
	})
}

func TestWriterOf(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	for _, tt := range []struct {
		name     string
		mode     os.FileMode
		uid, gid int
		want     string
	}{
		{"private", 0o600, 0, 0, ""},
		{"read by all", 0o755, 0, 65534, ""},
		{"written by all", 0o666, 0, 0, "anybody, mode 0666: chmod o-w x"},
		{"written by a group", 0o664, 0, 54321, "the group 54321, mode 0664: chmod g-w x"},
		{"written by root's group", 0o660, 0, 0, "the group " + groupName(0) + ", mode 0660: chmod g-w x"},
		{"of another user", 0o600, 54321, 0, "user 54321, the owner: chown 0 x, or run callgate as its owner"},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, tt.uid, tt.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if w := WriterOf(info); w != nil {
			got = w.Who + ", " + w.How + ": " + w.Hint("x")
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
