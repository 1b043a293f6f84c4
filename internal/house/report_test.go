package house

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestPrint(t *testing.T) {
	made := tree(t, map[string]string{
		"internal/a/a.go": "// Package a asks who is there.\npackage a\n\nimport \"m/internal/a/b\"\n\n" +
			"type T struct{ x, y int }\n\nfunc (T) M() { b.F() }\n\ntype I interface{ M() }\n",
		"internal/a/a_test.go":      "package a\n\n// nobody\nvar x = \"whoever\"\n",
		"internal/a/b/b.go":         "package b\n\nfunc F() {" + strings.Repeat("\n", 90) + "}\n\nfunc G() {}\n",
		"internal/c/b/b.go":         "package b\n\n// " + strings.Repeat("x", 130) + "\n\nvar V = \"nobody\"\n",
		"internal/c/large/large.go": "package large\n\nfunc f(l *Large) {}\n" + methods(26),
		"tool/tool.go":              "package tool\n",
	})
	report := Measure(made, t.TempDir())
	for name, c := range map[string]struct {
		golden  string
		most    int
		release release
	}{
		"one of each list": {"one.txt", 1, release{"tagged v1.2.3", "0123abcd of 2026-01-31", size{100, 4, 2}}},
		"everything":       {"all.txt", 0, release{"tagged v1.2.3", "0123abcd of 2026-01-31", size{200, 0, 5}}},
		"no release":       {"norelease.txt", 1, release{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := *report
			if r.release = c.release; c.release.name != "" {
				r.releaseErr = nil
			} else if r.releaseErr == nil {
				t.Fatal("the last release is known without a repository")
			} else {
				r.releaseErr = os.ErrNotExist // what git says depends on its version
			}
			var out strings.Builder
			if err := r.Print(&out, c.most); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", c.golden)
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", &out, want)
			}
		})
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12_034: "12,034", 1_000_001: "1,000,001"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
