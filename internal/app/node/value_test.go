package node_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/app/node"
)

// FuzzJSON writes what any file holds: the same bytes as those of its values, or no bytes where these cannot be
// written.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: [x, 'y\"', <z>, {d: ~}]\nA: 1.5e300\nc: |\n  two\n  lines\n", "[.nan, .inf, -0.0, 0x1f, 18446744073709551615]",
		"é: \"\\u2028\\u0001\\uD800\"\n", "true", "x: {}\ny: []\n", "a: 1\na: 2\n", "1: x\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, root, ok := node.Open("a.yaml", []byte(text), node.Keys{}, nil)
		if !ok {
			return
		}
		want, wantErr := json.Marshal(values.Value(root))
		direct, root, _ := node.Open("a.yaml", []byte(text), node.Keys{}, nil)
		got, err := direct.JSON(root)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("JSON of %q: %v, and of its values: %v", text, err, wantErr)
		}
		if err == nil && string(got) != string(want) {
			t.Errorf("JSON of %q is %s, and that of its values %s", text, got, want)
		}
	})
}
