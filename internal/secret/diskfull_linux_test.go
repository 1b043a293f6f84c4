package secret_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/durable"
	"callgate/internal/secret"
	"callgate/tool"
)

// A disk that is full, for real: what was kept stays, what is new is refused,
// and a plain file is not removed for a store that could not be written.
func TestDiskFull(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	v := openStore(t, folder)
	ok(t, v.Set("A", []byte(value)))
	plain := filepath.Join(folder, "secrets.json")
	ok(t, os.WriteFile(plain, []byte(`{"B":"`+value+`"}`), 0o600))
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	large := []byte(strings.Repeat("v", secret.MaxValue))
	if err := v.Set("C", large); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "space") {
		t.Errorf("set on a full disk: %v", err)
	}
	if _, err := secret.OpenWith(plain, nil); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("taken over on a full disk: %v", err)
	}
	if got := get(t, v, "A"); got != value {
		t.Errorf("A is %q", got)
	}
	if files(t, folder)["secrets.json"] != `{"B":"`+value+`"}` {
		t.Error("the plain file was lost")
	}
	ok(t, os.Remove(filler))
	ok(t, v.Set("C", large))
	v = openStore(t, folder)
	if get(t, v, "A") != value || get(t, v, "B") != value || get(t, v, "C") != string(large) {
		t.Error("with space again, a value is missing")
	}
	for name := range files(t, folder) {
		if durable.IsPartial(name) {
			t.Errorf("%s was left behind", name)
		}
	}
}
