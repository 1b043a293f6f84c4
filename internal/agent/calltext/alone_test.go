package calltext_test

import (
	"fmt"
	"slices"
	"testing"

	"callgate/internal/agent/calltext"
)

// A model that has no other way to call may write a call as Python does, alone on its line.
// However the text is divided, the same is read.
func TestPythonCallsAlone(t *testing.T) {
	t.Parallel()
	required := map[string][]string{"Read": {"path"}, "write_file": {"path", "content"}, "run": {"command"}, "list": nil}
	for text, want := range map[string]string{
		`Read("a.txt")`:                           `"" Read {"path":"a.txt"}`,
		`Read('a.txt')`:                           `"" Read {"path":"a.txt"}`,
		`Read(a.txt)`:                             `"" Read {"path":"a.txt"}`,
		`Read(src/a.txt)` + "\n":                  `"\n" Read {"path":"src/a.txt"}`,
		`Read(path="a.txt", limit=3)`:             `"" Read {"path":"a.txt","limit":3}`,
		`Read({"path": "a.txt"})`:                 `"" Read {"path": "a.txt"}`,
		"I look.\nRead(\"a.txt\")\nThen I go on.": `"I look.\n\nThen I go on." Read {"path":"a.txt"}`,
		`write_file("a.txt", "x)y")`:              `"" write_file {"path":"a.txt","content":"x)y"}`,
		`list()`:                                  `"" list {}`,

		`Read(x)`:                            `"Read(x)"`, // a word may be an example
		`Read(a.txt, b.txt)`:                 `"Read(a.txt, b.txt)"`,
		`Read("a.txt", "b")`:                 `"Read(\"a.txt\", \"b\")"`, // one too many
		`Read("a.txt") reads a file.`:        `"Read(\"a.txt\") reads a file."`,
		`Call Read("a.txt")`:                 `"Call Read(\"a.txt\")"`,
		"`Read(\"a.txt\")`":                  "\"`Read(\\\"a.txt\\\")`\"",
		`> Read("a.txt")`:                    `"> Read(\"a.txt\")"`,
		`Delete("a.txt")`:                    `"Delete(\"a.txt\")"`, // not offered
		`Read("a.txt"`:                       `"Read(\"a.txt\""`,    // broken off: nothing is made of half a call
		`Read(a.txt`:                         `"Read(a.txt"`,
		"```python\nx = 1\nRead(\"a\")\n```": "\"```python\\nx = 1\\nRead(\\\"a\\\")\\n```\"",
	} {
		for size := 1; size <= len(text); size++ {
			p := calltext.Parser{
				Known:    func(name string) bool { _, ok := required[name]; return ok },
				Required: func(name string) []string { return required[name] },
			}
			var visible string
			for piece := range slices.Chunk([]byte(text), size) {
				visible += p.Write(string(piece))
			}
			rest, calls := p.Close()
			got := fmt.Sprintf("%q", visible+rest)
			for _, c := range calls {
				got += " " + c.Name + " " + string(c.Args)
			}
			if got != want {
				t.Errorf("%q in pieces of %d: got %s, want %s", text, size, got, want)
				break
			}
		}
	}
	if visible, calls := calltext.Parse(`Read("a.txt")`, func(string) bool { return true }); len(calls) > 0 {
		t.Errorf("where tools are called by other means it is a call: %q, %v", visible, calls)
	}
}
