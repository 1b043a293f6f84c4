package house

import (
	"reflect"
	"strings"
	"testing"
)

func TestLargest(t *testing.T) {
	made := tree(t, map[string]string{
		"a/a.go":       "package a\n\ntype T[K any] struct{ a, b int; c }\n\nfunc (t *T[K]) M() {\n}\n\nfunc F() {}\n",
		"a/b.go":       "package a\n\nfunc (T[K]) n() {}\n\ntype i interface{ x(); y() }\n",
		"a/b_linux.go": "package a\n\nfunc F() {}\nfunc (T[K]) n() {}\nvar V, w = 1, 2\n",
		"a/a_test.go":  "package a\n\nfunc Large() {\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n}\n",
		"b/b.go":       "package b\n\nconst C = 1\n",
	})
	got := measureLargest(made, packages(made))
	for name, c := range map[string]struct{ got, want []count }{
		"packages": {got.packages, []count{{"a", 18}, {"b", 3}}},
		"files":    {got.files, []count{{"a/a.go", 8}, {"a/b.go", 5}, {"a/b_linux.go", 5}, {"b/b.go", 3}}},
		"functions": {got.functions, []count{{"a/a.go: T.M", 2},
			{"a/a.go: F", 1}, {"a/b.go: T.n", 1}, {"a/b_linux.go: F", 1}, {"a/b_linux.go: T.n", 1}}},
		"types":      {got.types, []count{{"a.T", 2}}},
		"structs":    {got.structs, []count{{"a.T", 3}}},
		"interfaces": {got.interfaces, []count{{"a.i", 2}}},
		"exported":   {got.exported, []count{{"a", 3}, {"b", 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if !reflect.DeepEqual(c.got, c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	function := func(lines int) string {
		return "package a\n\nfunc (t *T) f() {" + strings.Repeat("\n", lines-1) + "}\n"
	}
	line := func(length int) string { return "package a\n\n// " + strings.Repeat("é", length-3) + "\n" }
	for name, c := range map[string]struct {
		file, text string
		want       warnings
	}{
		"a function of 80 lines":   {"a/a.go", function(80), warnings{}},
		"a function of 81 lines":   {"a/a.go", function(81), warnings{functions: []count{{"a/a.go:3: T.f", 81}}}},
		"a long function of tests": {"a/a_test.go", function(81), warnings{}},
		"a line of 120 characters": {"a/a.go", line(120), warnings{}},
		"a line of 121 characters": {"a/a.go", line(121), warnings{lines: []count{{"a/a.go:3", 121}}}},
		"a long line of tests":     {"a/a_test.go", line(121), warnings{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := measureWarnings(tree(t, map[string]string{c.file: c.text})); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
