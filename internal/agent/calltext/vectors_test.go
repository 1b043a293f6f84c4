package calltext_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/calltext"
)

var offered = []string{"get_weather", "read_file", "write_file", "run", "list_files"}

func known(name string) bool { return slices.Contains(offered, name) }

// vector is one text of testdata, and what is wanted of it.
type vector struct {
	name, in, visible string
	calls             []string
}

// readVectors reads a file of vectors. Each begins with === and its name; its
// parts, if it has any, with --- and theirs.
func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for i, text := range strings.Split("\n"+string(data), "\n=== ") {
		if i == 0 {
			continue // what the file is
		}
		title, body, _ := strings.Cut(text, "\n")
		v := vector{name: title}
		parts := strings.Split("\n"+body, "\n--- ")
		if len(parts) == 1 {
			v.in = strings.TrimRight(body, "\n")
			v.visible = v.in
		}
		for _, part := range parts[1:] {
			key, words, _ := strings.Cut(part, "\n")
			words = strings.TrimRight(words, "\n")
			switch key {
			case "in":
				v.in = words
			case "visible":
				v.visible = words
			case "calls":
				if words != "" {
					v.calls = strings.Split(words, "\n")
				}
			default:
				t.Fatalf("%s: %q is no part of a vector", title, key)
			}
		}
		all = append(all, v)
	}
	return all
}

func TestVectors(t *testing.T) {
	total := 0
	for _, file := range []string{"calls.txt", "words.txt"} {
		for _, v := range readVectors(t, file) {
			total++
			t.Run(v.name, func(t *testing.T) {
				visible, calls := calltext.Parse(v.in, known)
				var got []string
				for _, c := range calls {
					if c.ID != "" {
						t.Errorf("the call of %s has the ID %q: IDs are not ours to give", c.Name, c.ID)
					}
					got = append(got, c.Name+" "+same(t, string(c.Args)))
				}
				var want []string
				for _, c := range v.calls {
					name, args, _ := strings.Cut(c, " ")
					want = append(want, name+" "+same(t, args))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("calls of %q: %s", v.in, diff)
				}
				// Where calls were, the lines they stood in are left.
				trim := func(s string) string { return s }
				if len(calls) > 0 {
					trim = strings.TrimSpace
				}
				if trim(visible) != trim(v.visible) {
					t.Errorf("visible %q, want %q", visible, v.visible)
				}
				atEveryByte(t, v.in, known, visible, calls)
			})
		}
	}
	if total < 150 {
		t.Errorf("%d vectors, want 150 or more", total)
	}
}

// same is JSON in the one way it can be written, with the order of its keys
// kept by none.
func same(t *testing.T, data string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%q is no JSON: %v", data, err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}
