package memtrim

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entry writes a mapping as /proc/self/smaps has it, less what is not read.
func entry(addresses, mode, file, anonymous string) string {
	head := fmt.Sprintf("%s %s 00000000 fe:00 1234   %s\n", addresses, mode, file)
	if anonymous == "" {
		return head
	}
	return head + "Rss: 8 kB\nPrivate_Dirty: 4 kB\nAnonymous:             " + anonymous + " kB\nTHPeligible: 0\n"
}

func TestProgramMappings(t *testing.T) {
	const file = "/usr/bin/a program"
	for _, c := range []struct {
		name, smaps string
		want        []mapping
	}{
		{"nothing", "", nil},
		{"code and tables", entry("1000-3000", "r-xp", file, "0") + entry("3000-4000", "r--p", file, "0"),
			[]mapping{{0x1000, 0x3000}, {0x3000, 0x4000}}},
		{"data", entry("1000-3000", "rw-p", file, "0"), nil},
		{"shared with other processes", entry("1000-3000", "r--s", file, "0"), nil},
		{"pages of its own", entry("1000-3000", "r--p", file, "4"), nil},
		{"only the last has pages of its own",
			entry("1000-3000", "r-xp", file, "0") + entry("3000-4000", "r--p", file, "12"), []mapping{{0x1000, 0x3000}}},
		{"another file", entry("1000-3000", "r-xp", "/lib/ld.so", "0"), nil},
		{"no file", entry("1000-3000", "r-xp", "", "0"), nil},
		{"a file whose name ends alike", entry("1000-3000", "r-xp", "/x"+file, "0"), nil},
		{"a file that was deleted", entry("1000-3000", "r-xp", file+" (deleted)", "0"), nil},
		{"nothing about pages", entry("1000-3000", "r-xp", file, ""), nil},
		{"nothing about the pages of the first",
			entry("1000-3000", "r-xp", file, "") + entry("3000-4000", "r--p", file, "0"), []mapping{{0x3000, 0x4000}}},
		{"data after code", entry("1000-3000", "r-xp", file, "") + entry("3000-4000", "rw-p", file, "0"), nil},
		{"no addresses", entry("3000-1000", "r-xp", file, "0") + entry("x-y", "r-xp", file, "0"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := programMappings(strings.NewReader(c.smaps), file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(mapping{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The program's own mappings are found, and the process works as before.
func TestTrim(t *testing.T) {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer smaps.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found, err := programMappings(smaps, program)
	if err != nil || len(found) == 0 {
		t.Errorf("no mappings of %s are found: %v", program, err)
	}
	for range 3 {
		if err := Trim(); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%v %q", map[string]int{"a": 1}, strings.Repeat("x", 3)); got != `map[a:1] "xxx"` {
			t.Error(got)
		}
	}
}

func FuzzProgramMappings(f *testing.F) {
	f.Add(entry("1000-3000", "r-xp", "/bin/x", "0") + entry("3000-4000", "rw-p", "/bin/x", "0"))
	f.Fuzz(func(t *testing.T, smaps string) {
		found, err := programMappings(strings.NewReader(smaps), "/bin/x")
		if err != nil {
			return
		}
		for _, m := range found {
			if m.begin >= m.end {
				t.Errorf("%+v", m)
			}
		}
	})
}
