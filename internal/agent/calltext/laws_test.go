package calltext_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/calltext"
	"callgate/llm"
)

// FuzzLaws asserts the laws of the package for any text: the visible text is the text
// without the markup of the calls; a call's name stands in the text; its arguments
// are JSON; and the division into pieces makes no difference.
func FuzzLaws(f *testing.F) {
	for _, file := range []string{"calls.txt", "plain.txt"} {
		for _, v := range readVectors(f, file) {
			f.Add(v.in, uint16(len(v.in)/2), true)
			f.Add(v.in, uint16(len(v.in)/3), false)
		}
	}
	f.Fuzz(func(t *testing.T, text string, split uint16, some bool) {
		names := known
		if !some {
			names = nil
		}
		visible, calls, cuts := calltext.ParseCuts(text, names)
		if got := without(t, text, cuts); got != visible {
			t.Errorf("%q shows %q; without the markup %v it is %q", text, visible, cuts, got)
		}
		if (len(calls) == 0) != (len(cuts) == 0) {
			t.Errorf("%q has %d calls and %d pieces of markup", text, len(calls), len(cuts))
		}
		for _, c := range calls {
			if c.Name == "" || !strings.Contains(text, c.Name) {
				t.Errorf("%q does not name %q", text, c.Name)
			}
			if !json.Valid(c.Args) || c.ID != "" {
				t.Errorf("%q makes the call %+v with the arguments %q", text, c, c.Args)
			}
		}
		k := int(split) % (len(text) + 1)
		inPieces(t, names, visible, calls, text[:k], text[k:])
		inPieces(t, names, visible, calls, strings.Split(text, "")...)
	})
}

func without(t *testing.T, text string, cuts [][2]int) string {
	t.Helper()
	var b strings.Builder
	at := 0
	for _, c := range cuts {
		if c[0] < at || c[1] <= c[0] || c[1] > len(text) {
			t.Fatalf("the markup %v is not in order in %q", cuts, text)
		}
		b.WriteString(text[at:c[0]])
		at = c[1]
	}
	return b.String() + text[at:]
}

func inPieces(t *testing.T, names func(string) bool, visible string, calls []llm.ToolCall, pieces ...string) {
	t.Helper()
	p := calltext.Parser{Known: names}
	var got strings.Builder
	for _, piece := range pieces {
		got.WriteString(p.Write(piece))
	}
	rest, again := p.Close()
	if got := got.String() + rest; got != visible {
		t.Errorf("%q in pieces shows %q, want %q", pieces, got, visible)
	}
	if !reflect.DeepEqual(calls, again) {
		t.Errorf("%q in pieces: %s", pieces, cmp.Diff(calls, again))
	}
}

// atEveryByte splits a text at every byte, and into single bytes.
func atEveryByte(t *testing.T, text string, names func(string) bool, visible string, calls []llm.ToolCall) {
	t.Helper()
	for i := range len(text) {
		inPieces(t, names, visible, calls, text[:i], text[i:])
	}
	single := make([]string, len(text))
	for i := range len(text) {
		single[i] = text[i : i+1]
	}
	inPieces(t, names, visible, calls, single...)
}

// Text that cannot begin a call is shown as it comes.
func TestPlainTextIsNotHeldBack(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		name string
		text string
		held int // at most, at any time
	}{
		{"prose", "The sum of a and b is c.\nIt is less than d, as far as I see.\n\nAnd that is all.\n", 8},
		{"markdown", "# Title\n\n1. a [link](https://example.org)\n2. `code` and **more**\n\n| a | b |\n|---|---|\n", 8},
		{"a program", "So:\n```go\nfunc main() {\n\tfmt.Println(\"<tool_call>\")\n}\n```\nDone.", 12},
		{"html", "```html\n<div class=\"x\">\n<p>text</p></div>\n```\n", 24},
		{"data", "{\n  \"answer\": 42,\n  \"list\": [{\"a\": 1}, {\"b\": 2}]\n}\n", 16},
		{"a name above braces", "run\n{ the gate opens }\nand closes again, as gates do, without a call.\n", 12},
		{"a comparison", "Here a < b, and b <c, and x<y> too; [see above] and {so} on.", 8},
	} {
		t.Run(v.name, func(t *testing.T) {
			p := calltext.Parser{Known: known}
			shown := 0
			for i := range len(v.text) {
				shown += len(p.Write(v.text[i : i+1]))
				if held := i + 1 - shown; held > v.held {
					t.Fatalf("%d bytes are held back at %q", held, v.text[:i+1])
				}
			}
		})
	}
}

func TestMarkupIsNeverShown(t *testing.T) {
	t.Parallel()
	p := calltext.Parser{Known: known}
	var shown []string
	for _, piece := range []string{
		"I look.", " <tool", "_call>", `{"name": "run", `, `"arguments": {}}`, "</tool_", "call>", " Done.",
	} {
		shown = append(shown, p.Write(piece))
	}
	rest, calls := p.Close()
	if diff := cmp.Diff([]string{"I look.", " ", "", "", "", "", "", ""}, shown); diff != "" {
		t.Error(diff)
	}
	if rest != " Done." || len(calls) != 1 || calls[0].Name != "run" {
		t.Errorf("in the end %q and %v", rest, calls)
	}
}

func TestTextAfterACallIsShownOnceTheReasoningHasEnded(t *testing.T) {
	t.Parallel()
	p := calltext.Parser{Known: known}
	p.Write("<think>so</think>")
	p.Write(`<tool_call>{"name": "run", "arguments": {}}</tool_call>`)
	if got := p.Write("Done. "); got != "Done. " {
		t.Errorf("shown %q, want the text at once", got)
	}
}

func TestParserIsReadyAgainAfterClose(t *testing.T) {
	t.Parallel()
	p := calltext.Parser{Known: known}
	for range 2 {
		shown := p.Write("a\n```go\nx") // a block that stays open
		rest, calls := p.Close()
		if shown+rest != "a\n```go\nx" || len(calls) != 0 {
			t.Fatalf("shown %q and %q, calls %v", shown, rest, calls)
		}
		shown = p.Write(`{"name": "run", "arguments": {"a": 1}}`)
		rest, calls = p.Close()
		if shown+rest != "" || len(calls) != 1 {
			t.Fatalf("shown %q and %q, calls %v", shown, rest, calls)
		}
	}
}

func TestNilKnowsEveryName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{"name": "anything", "arguments": {}}`:              {"anything"},
		"So:\n```json\n{\"tool\": \"x\", \"args\": {}}\n```": {"x"},
		`[f(a=1), g()]`:      {"f", "g"},
		"Result\n{\"a\": 1}": nil, // a name without any mark needs to be known
		`<tool_call>{"name": "a b", "arguments": {}}`:         nil, // no name at all
		`<tool_call>{"name": "functions.x", "arguments": {}}`: {"x"},
	} {
		_, calls := calltext.Parse(text, nil)
		var got []string
		for _, c := range calls {
			got = append(got, c.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q calls %v, want %v", text, got, want)
		}
	}
}

// A piece of a long call must not cost the whole length of the call; this would take
// minutes otherwise.
func TestLongCallsAreParsedInTime(t *testing.T) {
	t.Parallel()
	p := calltext.Parser{Known: known}
	p.Write(`<tool_call>{"name": "write_file", "arguments": {"text": "`)
	const pieces = 200_000
	for range pieces {
		p.Write("word ")
	}
	p.Write(`"}}</tool_call>`)
	rest, calls := p.Close()
	if rest != "" || len(calls) != 1 || len(calls[0].Args) < 5*pieces {
		t.Errorf("%d calls, %d bytes left", len(calls), len(rest))
	}
}

// Text made of opening marks must not cost the square of its length times the cost of
// one mark; this would take minutes otherwise.
func TestHostileTextIsParsedInTime(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"<tool_call>", "<function=run>", "{", "[", `{"name":`, "```json\n{", "<|channel|>", "<think>",
		"[TOOL_CALLS]", "<invoke name=\"run\">", "`", "\nrun\n{",
		`<tool_call>{"name": "run", "arguments": {"a": `, "]<]minimax[>[<tool_call>", "<tool_call>run<arg_key>",
		"[run(a=", "<|open|>tools<|sep|>", `"`,
	} {
		text := strings.Repeat(unit, 20_000/len(unit))
		visible, calls, cuts := calltext.ParseCuts(text, known)
		if got := without(t, text, cuts); got != visible {
			t.Errorf("%q many times: %d calls, %d bytes shown, want %d", unit, len(calls), len(visible), len(got))
		}
	}
}
