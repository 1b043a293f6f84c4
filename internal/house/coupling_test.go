package house

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestSoleImports(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []soleImport
	}{
		"imported by its parent": {
			map[string]string{"a/a.go": `package a; import "m/a/b"`, "a/b/b.go": "package b\n"},
			[]soleImport{{"a/b", "a", 1}},
		},
		"imported by two files of one package": {
			map[string]string{"a/1.go": `package a; import "m/b"`, "a/2.go": `package a; import _ "m/b"`, "b/b.go": "package b\n"},
			[]soleImport{{"b", "a", 1}},
		},
		"imported by two packages": {
			map[string]string{"a/a.go": `package a; import "m/c"`, "b/b.go": `package b; import "m/c"`, "c/c.go": "package c\n"},
			nil,
		},
		"imported by no package": {
			map[string]string{"a/a.go": "package a\n"},
			nil,
		},
		"a test does not count": {
			map[string]string{"a/a.go": `package a; import "m/b"`, "c/c_test.go": `package c; import "m/b"`, "b/b.go": "package b\n"},
			[]soleImport{{"b", "a", 1}},
		},
		"a test helper does not count": {
			map[string]string{"a/a.go": `package a; import "m/b"`, "a/atest/a.go": `package atest; import "m/b"`, "b/b.go": "package b\n"},
			[]soleImport{{"b", "a", 1}},
		},
		"a test helper is not listed": {
			map[string]string{"a/a.go": `package a; import "m/a/atest"`, "a/atest/a.go": "package atest\n"},
			nil,
		},
		"the packages of others are not listed": {
			map[string]string{"a/a.go": `package a; import "n/b"`, "b/b.go": "package b\n"},
			nil,
		},
		"children first, then small ones": {
			map[string]string{
				"a/a.go": `package a; import ("m/a/x"; "m/a/y"; "m/b"; "m/c")`, "a/x/x.go": "package x\n\n\n",
				"a/y/y.go": "package y\n\n", "b/b.go": "package b\n\n", "c/c.go": "package c\n",
			},
			[]soleImport{{"a/y", "a", 2}, {"a/x", "a", 3}, {"c", "a", 1}, {"b", "a", 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := soleImports(packages(tree(t, c.files))); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if s := (soleImport{folder: "a/b/c", importer: "a"}); s.fromParent() {
		t.Error("a is not the parent of a/b/c")
	}
	if s := (soleImport{folder: "a/b/c", importer: "a/b"}); !s.fromParent() {
		t.Error("a/b is the parent of a/b/c")
	}
}

// methods declares n methods of a type Large.
func methods(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "func (*Large) m%d() {}\n", i)
	}
	return text.String()
}

func TestFunctionsOnLargeTypes(t *testing.T) {
	large := "package a\n" + methods(manyMethods+1)
	one := []outsideMethods{{"a.Large", 1, manyMethods + 1}}
	for name, c := range map[string]struct {
		text string
		want []outsideMethods
	}{
		"a pointer":                {"func f(l *Large) {}", one},
		"a value":                  {"func f(l Large, n int) {}", one},
		"a type with arguments":    {"func f(l *Large[int]) {}", one},
		"after a context":          {"func f(ctx context.Context, l *Large) {}", one},
		"as the second parameter":  {"func f(n int, l *Large) {}", nil},
		"as the result":            {"func f() *Large {}", nil},
		"of another package":       {"func f(l *b.Large) {}", nil},
		"in a slice":               {"func f(l []*Large) {}", nil},
		"a method of another type": {"func (s small) f(l *Large) {}", nil},
		"a small type":             {"func (s small) m() {}\nfunc f(s small) {}", nil},
		"once for each system":     {"func f(l *Large) {}\nfunc f(l *Large) {}", one},
	} {
		t.Run(name, func(t *testing.T) {
			index := packages(tree(t, map[string]string{"a/a.go": large + c.text}))
			if got := functionsOnLargeTypes(index); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	t.Run("a type of exactly the number", func(t *testing.T) {
		fewer := strings.Replace(large, "func (*Large) m0() {}", "func f(*Large) {}", 1)
		if got := functionsOnLargeTypes(packages(tree(t, map[string]string{"a/a.go": fewer}))); got != nil {
			t.Errorf("got %v, want none", got)
		}
	})
	t.Run("the most first", func(t *testing.T) {
		files := map[string]string{"a/a.go": large + "func f(l Large) {}"}
		files["b/b.go"] = strings.Replace(files["a/a.go"], "package a", "package b", 1) + "\nfunc g(l Large) {}"
		want := []outsideMethods{{"b.Large", 2, manyMethods + 1}, {"a.Large", 1, manyMethods + 1}}
		if got := functionsOnLargeTypes(packages(tree(t, files))); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestSharedNames(t *testing.T) {
	got := sharedNames(packages(tree(t, map[string]string{
		"a/tasks/a.go": "package tasks\n", "b/tasks/a.go": "package tasks\n", "b/tasks/b.go": "package tasks\n",
		"a/hooks/a.go": "package hooks\n", "b/events/a.go": "package hooks\n", "c/hooks/a.go": "package hooks\n",
		"a/once/a.go": "package once\n", "b/once/a_test.go": "package once\n",
		"cmd/a/a.go": "package main\n", "cmd/b/a.go": "package main\n",
	})))
	want := []sharedName{{"hooks", []string{"a/hooks", "b/events", "c/hooks"}}, {"tasks", []string{"a/tasks", "b/tasks"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestExports(t *testing.T) {
	const declared = "package a\n\ntype T int\nvar V, w int\nconst C = 1\nfunc F() {}\nfunc (T) M() {}\n"
	one := exports{4, 1, []exportsOf{{"a", 4, 1}}}
	for name, c := range map[string]struct {
		users map[string]string
		want  exports
	}{
		"no use":               {nil, exports{all: 4}},
		"a use":                {map[string]string{"b/b.go": `package b; import "m/a"; var x = a.V`}, one},
		"a use under an alias": {map[string]string{"b/b.go": `package b; import other "m/a"; var x = other.C`}, one},
		"a use as a type":      {map[string]string{"b/b.go": `package b; import "m/a"; type x struct { *a.T }`}, one},
		"two uses in a package": {
			map[string]string{"b/1.go": `package b; import "m/a"; var x = a.V`, "b/2.go": `package b; import "m/a"; var y = a.V`}, one},
		"uses in two packages": {
			map[string]string{"b/b.go": `package b; import "m/a"; var x = a.V`, "c/c.go": `package c; import "m/a"; var x = a.V`},
			exports{all: 4}},
		"two names": {
			map[string]string{"b/b.go": `package b; import "m/a"; var x = a.V`, "c/c.go": `package c; import "m/a"; var x = a.F`},
			exports{4, 2, []exportsOf{{"a", 4, 2}}}},
		"a use in a test":         {map[string]string{"b/b_test.go": `package b; import "m/a"; var x = a.V`}, exports{all: 4}},
		"a use in a test helper":  {map[string]string{"btest/b.go": `package btest; import "m/a"; var x = a.V`}, exports{all: 4}},
		"a method or a field":     {map[string]string{"b/b.go": `package b; import "m/a"; func f(x a.T) { x.M(); x.V() }`}, one},
		"a variable of that name": {map[string]string{"b/b.go": `package b; func f(a x) { a.V() }`}, exports{all: 4}},
		"an unexported selector":  {map[string]string{"b/b.go": `package b; import "m/a"; func f(a x) { a.y() }`}, exports{all: 4}},
		"a package of others":     {map[string]string{"b/b.go": `package b; import "n/a"; var x = a.V`}, exports{all: 4}},
		"the exports of a command and of a test helper": {
			map[string]string{"cmd/c.go": "package main\nfunc X() {}", "ctest/c.go": "package ctest\nfunc X() {}"},
			exports{all: 4}},
		"the most first": {
			map[string]string{
				"b/b.go": "package b\nimport \"m/a\"\nvar x = a.V", "c/c.go": "package c\nvar X, Y int",
				"d/d.go": "package d\nimport \"m/c\"\nvar x = c.X + c.Y"},
			exports{6, 3, []exportsOf{{"c", 2, 2}, {"a", 4, 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a/a.go": declared}
			for file, text := range c.users {
				files[file] = text
			}
			if got := measureExports(packages(tree(t, files))); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
