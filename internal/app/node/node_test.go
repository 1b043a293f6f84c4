package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app/node"
)

// A colon ends a key only before white space, in braces too.
func TestColons(t *testing.T) {
	type m = map[string]any
	for text, want := range map[string]any{
		"a: [localhost:13000]":                 m{"a": []any{"localhost:13000"}},
		"a: {b: [localhost:13000]}":            m{"a": m{"b": []any{"localhost:13000"}}},
		"a: {b: [x, localhost:13000, ::1]}":    m{"a": m{"b": []any{"x", "localhost:13000", "::1"}}},
		"a: {b: [::1, fe80::1, ::]}":           m{"a": m{"b": []any{"::1", "fe80::1", "::"}}},
		"a: {b: [10.0.0.1:80, host:x:y]}":      m{"a": m{"b": []any{"10.0.0.1:80", "host:x:y"}}},
		"a: {b: [\n  x:1,\n  y:true\n]}":       m{"a": m{"b": []any{"x:1", "y:true"}}},
		"a: {b: [http://x:80/y]}":              m{"a": m{"b": []any{"http://x:80/y"}}},
		"a: [{b: [x:1]}, c:2]":                 m{"a": []any{m{"b": []any{"x:1"}}, "c:2"}},
		"a: {b: [é:ü, x:1.5]}":                 m{"a": m{"b": []any{"é:ü", "x:1.5"}}},
		"a: {b: ['x:1', \"y:2\"]}":             m{"a": m{"b": []any{"x:1", "y:2"}}},
		"a: {b: [x: 1, {y: 2}]}":               m{"a": m{"b": []any{m{"x": uint64(1)}, m{"y": uint64(2)}}}},
		"a: {b: [{k: x:1, l: [y:2]}], c: z:3}": m{"a": m{"b": []any{m{"k": "x:1", "l": []any{"y:2"}}}, "c": "z:3"}},
		"a: {b:1}":                             m{"a": m{"b": uint64(1)}},
	} {
		r, root, ok := node.Open("f", []byte(text), node.Keys{}, nil)
		if !ok {
			t.Errorf("%q: %v", text, node.Err(r.Report))
			continue
		}
		if diff := cmp.Diff(want, r.Value(root)); diff != "" || node.Err(r.Report) != nil {
			t.Errorf("%q (-want +got):\n%s%v", text, diff, node.Err(r.Report))
		}
	}
}

// What is wrong behind a joined text is reported where it is written.
func TestColonsKeepPositions(t *testing.T) {
	r, root, _ := node.Open("f", []byte("a: {b: [x:1, {c: 2}]}"), node.Keys{}, nil)
	for _, a := range r.Entries(root, "") {
		for _, b := range r.Entries(a, "") {
			r.Texts(new([]string), "")(b)
		}
	}
	const want = "f:1:14: a.b[1] must be text, and this is a mapping\n    1 | a: {b: [x:1, {c: 2}]}\n" +
		"      |              ^\n      = write one value"
	if err := node.Err(r.Report); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}
