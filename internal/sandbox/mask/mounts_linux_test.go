package mask

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseMounts(t *testing.T) {
	t.Parallel()
	const text = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 254:0 /home/u /mnt/my\040home rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:4 mnt:[4026532] /run/ns rw - nsfs nsfs rw
broken
`
	want := Mounts{{"254:0", "/", "/"}, {"254:0", "/home/u", "/mnt/my home"}}
	if got := parseMounts(text); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestMountOfPath(t *testing.T) {
	t.Parallel()
	m := Mounts{{"1", "/", "/"}, {"2", "/", "/home"}, {"2", "/u", "/srv"}, {"3", "/", "/home"}}
	for path, want := range map[string]string{"/etc": "1", "/home/u": "3", "/homes": "1", "/srv/a": "2"} {
		if got, ok := m.at(path); !ok || got.device != want {
			t.Errorf("%s is on %+v", path, got)
		}
	}
}

// Aliases never names the path itself, nor something that is not there.
func TestAliasesOfHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range ReadMounts().Aliases([]string{dir, filepath.Join(dir, "none")}) {
		if _, err := os.Stat(name); err != nil || name == dir {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add("22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n")
	f.Add("30 22 254:0 /a\\040\\134b /m\\04 rw\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range parseMounts(text) {
			if m.root == "" || m.point == "" {
				t.Errorf("%+v", m)
			}
		}
	})
}
