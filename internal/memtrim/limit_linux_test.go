package memtrim

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGroupLimit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/b/memory.max": "max\n", "a/memory.max": "1000\n", "memory/c/memory.limit_in_bytes": "500\n",
		"d/memory.max": "9000\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, groups string
		want         int64
	}{
		{"no groups", "", 5000},
		{"the group above", "0::/a/b\n", 1000},
		{"version 1", "5:cpu:/c\n4:memory:/c\n", 500},
		{"more than the machine has", "0::/d\n", 5000},
		{"outside of the tree", "0::/../../a\n", 1000},
		{"not there", "0::/nowhere\n", 5000},
		{"nonsense", "x\n::\n", 5000},
	} {
		if got := groupLimit(root, test.groups, 5000); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	if n := available(); n < 1<<20 {
		t.Errorf("this machine has %d bytes", n)
	}
}
