package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/transcript"
	"callgate/tool"
)

// block is some numbered lines.
type block struct{ name, lines int }

func (b block) Lines(int, bool) []string {
	var out []string
	for i := range b.lines {
		out = append(out, fmt.Sprintf("%d.%d", b.name, i))
	}
	return out
}

// The window is a piece of the whole, wherever one scrolls to.
func TestWindowIsAPieceOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var tr transcript.Transcript
		var whole []string
		height := 1 + random.IntN(8)
		tr.Resize(20, height)
		for name := range random.IntN(8) {
			b := block{name, random.IntN(5)}
			gap := random.IntN(2) == 0
			tr.Add(b, gap)
			if lines := b.Lines(0, false); gap && name > 0 && len(lines) > 0 {
				whole = append(append(whole, ""), lines...)
			} else {
				whole = append(whole, lines...)
			}
		}
		last := max(0, len(whole)-height)
		at := last // where the window begins
		for range 40 {
			n := random.IntN(9) - 4
			tr.Scroll(n)
			at = max(0, min(at+n, last))
			want := whole[at:min(at+height, len(whole))]
			if d := cmp.Diff(want, tr.Window()); d != "" && len(want)+len(tr.Window()) > 0 {
				t.Fatalf("%q at %d after %d: %s", whole, at, n, d)
			}
			if tr.Following() != (at == last) {
				t.Fatalf("at %d of %d it follows: %v", at, last, tr.Following())
			}
		}
		tr.Home()
		if d := cmp.Diff(whole[:min(height, len(whole))], tr.Window()); d != "" && len(whole) > 0 {
			t.Fatal(d)
		}
	}
}

func TestWindowStaysWhereItIsHeld(t *testing.T) {
	var tr transcript.Transcript
	tr.Resize(20, 2)
	tr.Add(block{0, 5}, false)
	tr.Scroll(-2)
	tr.Add(block{1, 5}, false)
	if d := cmp.Diff([]string{"0.1", "0.2"}, tr.Window()); d != "" {
		t.Error(d)
	}
	tr.Follow()
	tr.Add(block{2, 1}, false)
	if d := cmp.Diff([]string{"1.4", "2.0"}, tr.Window()); d != "" {
		t.Error(d)
	}
}

func TestAt(t *testing.T) {
	var tr transcript.Transcript
	tr.Resize(20, 4)
	a, b := tr.Add(block{0, 3}, false), tr.Add(block{1, 3}, false)
	for row, want := range []*transcript.Entry{a, b, b, b, nil} {
		if got := tr.At(row); got != want {
			t.Errorf("row %d is of another block", row)
		}
	}
	if tr.At(-1) != nil {
		t.Error("there is something above")
	}
}

// plain is a whole transcript without its colours.
func plain(tr *transcript.Transcript, width int) string {
	tr.Resize(width, 1<<20)
	return ansi.Strip(strings.Join(tr.Window(), "\n"))
}

const document = "# Head\n\nA paragraph\nof two lines.\n\n- one\n\n- two, loose\n  still two\n\n  and a part of it\n" +
	"- three\n\nAfter the list.\n\n1. first\n\n2. second\n\n```go\nfunc main() {\n\n}\n```\nright after\n\n" +
	"> quoted\n> twice\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n~~~\ntilde\n~~~\n\nThe end."

// However an answer comes in pieces, it looks the same in the end.
func TestAnswerInPieces(t *testing.T) {
	var whole transcript.Transcript
	transcript.NewAnswer(&whole).Write(document)
	want := plain(&whole, 60)
	for _, word := range []string{"# Head", "• one", "• two, loose", "• three", "1. first", "2. second", "func main() {",
		"right after", "│ quoted", "tilde", "The end."} {
		if !strings.Contains(want, word) {
			t.Errorf("%q is not shown in\n%s", word, want)
		}
	}
	for size := range 40 {
		var tr transcript.Transcript
		a := transcript.NewAnswer(&tr)
		for rest := document; rest != ""; {
			n := min(size+1, len(rest))
			a.Write(rest[:n])
			rest = rest[n:]
		}
		if d := cmp.Diff(want, plain(&tr, 60)); d != "" {
			t.Errorf("in pieces of %d: %s", size+1, d)
		}
	}
}

// What belongs to an item stands below its text, also when the answer comes in pieces.
func TestItemsKeepTheirIndent(t *testing.T) {
	t.Parallel()
	const text = "1. first item of a list\n  - two spaces are enough, and it wraps\n\n   ```\n   code\n   ```\n2. second\n"
	want := "1. first item of a list\n\n   • two spaces are enough,\n     and it wraps\n\n     code\n\n2. second"
	for size := 1; size < 60; size += 7 {
		var tr transcript.Transcript
		a := transcript.NewAnswer(&tr)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			a.Write(rest[:n])
			rest = rest[n:]
		}
		if d := cmp.Diff(want, plain(&tr, 30)); d != "" {
			t.Errorf("in pieces of %d: %s", size, d)
		}
	}
	var tr transcript.Transcript
	tr.Add(transcript.UserText("- an item of the user that wraps\n- b"), false)
	tr.Add(transcript.Note{Text: "10. a note that is a list and wraps"}, false)
	if d := cmp.Diff("> - an item of the user\n    that wraps\n  - b\n10. a note that is a list\n    and wraps", plain(&tr, 26)); d != "" {
		t.Error(d)
	}
}

// Arguments are shown as people write them.
func TestArgumentsAreReadable(t *testing.T) {
	t.Parallel()
	var tr transcript.Transcript
	args := `{"command":"cd a \u0026\u0026 make 2\u003e\u00261 \\\\u0026 \ud83d\udc68\u200d\ud83d\udc69 \u202e \u0022 \ud83d"}`
	tr.Add(&transcript.Call{Name: "shell__bash", Args: []byte(args)}, false)
	want := `→ shell.bash cd a && make 2>&1 \\u0026 ` + "👨\u200d👩" + ` ⟨U+202E⟩ " ` + "\ufffd"
	if got := plain(&tr, 200); got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// What came of a call is shown below it: the change of a file, the last lines of a
// command that failed. Details show what was printed and came back as the result once.
func TestWhatCameOfACall(t *testing.T) {
	t.Parallel()
	result := func(status tool.Status, summary string, text string) *tool.Result {
		return &tool.Result{Status: status, Summary: summary, Content: []tool.Content{tool.Text(text)}}
	}
	edit := &transcript.Call{Name: "filesystem__edit", Args: []byte(`{"path":"a.go","old":"x","new":"y"}`)}
	edit.Result = result(tool.Success, "edited a.go", "@@ line 3 @@\n-x\n+y\n")
	long := &transcript.Call{Name: "filesystem__edit", Args: []byte(`{"path":"b.go"}`)}
	long.Result = result(tool.Success, "edited b.go", "@@ line 1 @@\n"+strings.Repeat("+y\n", 20))
	failed := &transcript.Call{Name: "shell__bash", Args: []byte(`{"command":"make"}`)}
	failed.AddOutput("1\n2\n3\n4\n5\nFAILED\n")
	failed.Result = result(tool.Failure, "exit code 1", "1\n2\n3\n4\n5\nFAILED\nexit code 1\n")
	same := &transcript.Call{Name: "shell__bash", Args: []byte(`{"command":"ls"}`)}
	same.AddOutput("a.go\n")
	same.Result = result(tool.Success, "exit code 0", "a.go\n")
	for _, c := range []struct {
		name       string
		call       *transcript.Call
		shut, open string
	}{
		{"a change", edit, "✓ filesystem.edit a.go, old: x, new: y\n  edited a.go\n  │ @@ line 3 @@\n  │ -x\n  │ +y",
			"✓ filesystem.edit a.go, old: x, new: y\n  │ path: a.go\n  │ old: x\n  │ new: y\n  edited a.go\n" +
				"  │ @@ line 3 @@\n  │ -x\n  │ +y"},
		{"a long change", long, "✓ filesystem.edit b.go\n  edited b.go\n  │ @@ line 1 @@" +
			strings.Repeat("\n  │ +y", 11) + "\n  │ … 9 lines more",
			"✓ filesystem.edit b.go\n  │ path: b.go\n  edited b.go\n  │ @@ line 1 @@" + strings.Repeat("\n  │ +y", 20)},
		{"a failure", failed, "✗ shell.bash make\n  exit code 1\n  │ 2\n  │ 3\n  │ 4\n  │ 5\n  │ FAILED",
			"✗ shell.bash make\n  │ command: make\n  exit code 1\n  │ 1\n  │ 2\n  │ 3\n  │ 4\n  │ 5\n  │ FAILED\n  │ exit code 1"},
		{"printed and returned", same, "✓ shell.bash ls\n  exit code 0",
			"✓ shell.bash ls\n  │ command: ls\n  exit code 0\n  │ a.go"},
	} {
		var tr transcript.Transcript
		e := tr.Add(c.call, false)
		if d := cmp.Diff(c.shut, plain(&tr, 80)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		e.Toggle()
		if d := cmp.Diff(c.open, plain(&tr, 80)); d != "" {
			t.Errorf("%s, with details: %s", c.name, d)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add(document, 40, 3)
	f.Add("a &#27;[2J <b> \\&#27; &amp;#27; `&#x9b;`", 10, 1)
	f.Add("- a\n\n  - b\n\n```\n", 3, 2)
	f.Fuzz(func(t *testing.T, text string, width, piece int) {
		if len(text) > 2_000 || width < 2 || width > 200 || piece < 1 {
			t.Skip()
		}
		var tr transcript.Transcript
		a := transcript.NewAnswer(&tr)
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			a.Write(rest[:n])
			rest = rest[n:]
		}
		tr.Resize(width, 1<<20)
		for _, line := range tr.Window() {
			if w := ansi.StringWidth(line); w > max(width, 2) {
				t.Errorf("%q is %d wide, in %d", line, w, width)
			}
			for _, r := range ansi.Strip(line) {
				if r < ' ' || r >= 0x7f && r < 0xa0 {
					t.Errorf("%q is shown: %q", r, line)
				}
			}
		}
	})
}
