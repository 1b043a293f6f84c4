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

// vector is a text of testdata, and the expected result.
type vector struct {
	name, in, visible string
	calls             []string
}

// readVectors reads a file of vectors. A vector begins with === and its name, each of
// its parts, if it has any, with --- and the name of the part.
func readVectors(t testing.TB, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for i, text := range strings.Split("\n"+string(data), "\n=== ") {
		if i == 0 {
			continue // the comment of the file
		}
		title, body, _ := strings.Cut(text, "\n")
		v := vector{name: title}
		parts := strings.Split("\n"+body, "\n--- ")
		if len(parts) == 1 {
			v.in = strings.TrimRight(body, "\n")
			v.visible = v.in
		}
		for _, part := range parts[1:] {
			key, text, _ := strings.Cut(part, "\n")
			text = strings.TrimRight(text, "\n")
			switch key {
			case "in":
				v.in = text
			case "visible":
				v.visible = text
			case "calls":
				if text != "" {
					v.calls = strings.Split(text, "\n")
				}
			default:
				t.Fatalf("%s: %q is no part of a vector", title, key)
			}
		}
		all = append(all, v)
	}
	return all
}

func TestVectorsAtEveryByte(t *testing.T) {
	t.Parallel()
	total := 0
	for _, file := range []string{"calls.txt", "plain.txt"} {
		for _, v := range readVectors(t, file) {
			total++
			t.Run(v.name, func(t *testing.T) {
				visible, calls := calltext.Parse(v.in, known)
				var got []string
				for _, c := range calls {
					if c.ID != "" {
						t.Errorf("the call of %s has the ID %q: calls in text have no ID", c.Name, c.ID)
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
				// The line ends around a call stay.
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

// same returns JSON in canonical form.
func same(t *testing.T, data string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%q is no JSON: %v", data, err)
	}
	out, _ := json.Marshal(v)
	return string(out)
}
