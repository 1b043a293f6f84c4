package resulttext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// texts returns the texts of contents, each piece separated by a bar.
func texts(all []tool.Content) string {
	var out []string
	for _, c := range all {
		out = append(out, c.Text)
	}
	return strings.Join(out, "|")
}

func TestBodyEndsWithTheCut(t *testing.T) {
	t.Parallel()
	cut := &tool.Cut{Unit: "lines", Last: 2, Total: 5, Next: "offset=3"}
	const line = "[lines 1–2 of 5; continue with offset=3]"
	for name, c := range map[string]struct {
		result tool.Result
		want   string
	}{
		"text":                    {tool.Result{Content: []tool.Content{tool.Text("a\nb")}, Cut: cut}, "a\nb\n" + line},
		"text that ends its line": {tool.Result{Content: []tool.Content{tool.Text("a\nb\n")}, Cut: cut}, "a\nb\n" + line},
		"an image":                {tool.Result{Content: []tool.Content{tool.Image("image/png", []byte("x"))}, Cut: cut}, "|" + line},
		"data":                    {tool.Result{Data: json.RawMessage(`{"a":1}`), Cut: cut}, `{"a":1}|` + line},
		"a summary":               {tool.Result{Summary: "two lines", Cut: cut}, "two lines\n" + line},
		"nothing was cut":         {tool.Result{Content: []tool.Content{tool.Text("a")}}, "a"},
	} {
		before := texts(c.result.Content)
		if got := texts(resulttext.Content(&c.result, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if texts(c.result.Content) != before {
			t.Errorf("%s: the result itself was changed", name)
		}
	}
}

func TestContentSaysWhatTheReaderMustKnow(t *testing.T) {
	t.Parallel()
	said := func(text string) []tool.Content { return []tool.Content{tool.Text(text)} }
	for name, c := range map[string]struct {
		result tool.Result
		want   string
	}{
		"nothing at all": {tool.Result{}, "(no output)"},
		"an empty text":  {tool.Result{Content: said(" \n")}, "(no output)"},
		"no output, and data": {tool.Result{
			Summary: "exit code 0 (no output)", Content: said(""), Data: json.RawMessage(`{"exit_code":0}`),
		}, "exit code 0 (no output)"},
		"an empty object":         {tool.Result{Summary: "nothing matches \"x\"", Data: json.RawMessage(`{ }`)}, `nothing matches "x"`},
		"an empty list":           {tool.Result{Data: json.RawMessage(`[]`)}, "(no output)"},
		"null":                    {tool.Result{Summary: "moved", Data: json.RawMessage(`null`)}, "moved"},
		"a telling summary":       {tool.Result{Summary: "404 Not Found; 9 bytes", Content: said("no such page")}, "404 Not Found; 9 bytes|no such page"},
		"a summary beside data":   {tool.Result{Summary: "row 4 is bad", Data: json.RawMessage(`{"n":3}`)}, `{"n":3}|row 4 is bad`},
		"a summary that repeats":  {tool.Result{Summary: "one line", Content: said("one line\n")}, "one line\n"},
		"the beginning of it":     {tool.Result{Summary: "a long li…", Content: said("a long line")}, "a long line"},
		"on a line of its own":    {tool.Result{Summary: "exit code 0", Content: said("out\nexit code 0")}, "out\nexit code 0"},
		"a summary that counts":   {tool.Result{Summary: "mcp_x.y: 3 lines, 1 image", Content: said("a\nb\nc")}, "a\nb\nc"},
		"all of a file":           {tool.Result{Summary: "a b.txt: 2 lines, all of it", Content: said("a\nb")}, "a\nb"},
		"a failure":               {tool.Result{Summary: "s", Error: tool.Errorf("x", tool.Failed, "broke"), Content: said("so far")}, "failed: broke|so far"},
		"notes come before a cut": {tool.Result{Content: said("a"), Warnings: []string{"w"}, Cut: &tool.Cut{Unit: "lines", Last: 1, Total: 2}}, "a\nnote: w\n[line 1 of 2]"},
	} {
		if got := texts(resulttext.Content(&c.result, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// has is a reader that is shown some tools, by their wire names; others it does not have.
func has(shown ...string) resulttext.Names {
	return func(name string) (string, bool) {
		for _, s := range shown {
			if s == name {
				return tool.WireName(name), true
			}
		}
		switch name {
		case "filesystem.read", "filesystem.list", "filesystem.glob", "artifact.read", "approvals.collect", "get_tool":
			return "", true
		}
		return "", false
	}
}

func TestReadersAreToldOfTheirTools(t *testing.T) {
	t.Parallel()
	reader := has("filesystem.list", "artifact.read")
	for hint, want := range map[string]string{
		"use filesystem.list or filesystem.glob to see what is there": "use filesystem__list to see what is there",
		"use filesystem.read or filesystem.glob to see what is there": "",
		"use filesystem.list to see what is there":                    "use filesystem__list to see what is there",
		"nothing was run; use filesystem.read; mend a.b and go on":    "nothing was run; mend a.b and go on",
		"look at its schema with get_tool, or do without it":          "do without it",
		"did you mean filesystem.list?":                               "did you mean filesystem__list?",
		"see tools.modules.web in callgate.yaml":                      "see tools.modules.web in callgate.yaml",
		"":                                                            "",
	} {
		if got := resulttext.Advice(hint, reader); got != want {
			t.Errorf("%q: %q, want %q", hint, got, want)
		}
	}
	e := tool.Errorf("x", tool.NotFound, "no such tool")
	e.Similar = []string{"filesystem.list", "filesystem.read", "notes.txt"}
	if got := resulttext.ErrorText(e, reader); got != "not_found: no such tool\nsimilar: filesystem__list, notes.txt" {
		t.Errorf("%q", got)
	}
	cut := &tool.Cut{Unit: "lines", Last: 2, Total: 9, Tool: "artifact.read", Next: "ref=c1 offset=3"}
	if got := resulttext.CutLine(cut, reader); got != "[lines 1–2 of 9; continue with artifact__read ref=c1 offset=3]" {
		t.Error(got)
	}
	if got := resulttext.CutLine(cut, has()); got != "[lines 1–2 of 9]" {
		t.Error(got)
	}
	waiting := tool.Result{
		Status: tool.Waiting, Approval: "a1",
		Summary: "shell.bash waits for a human: it asks (a human must answer; then approvals.collect gives its result)",
	}
	if got := texts(resulttext.Content(&waiting, reader)); got !=
		"shell.bash waits for a human: it asks (a human must answer; nothing has run yet)" {
		t.Error(got)
	}
	if got := texts(resulttext.Content(&waiting, has("approvals.collect"))); !strings.HasSuffix(got,
		`then approvals__collect with {"approval":"a1"} gives its result)`) {
		t.Error(got)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\n\nc", 3)
	f.Add(strings.Repeat("é", 3000)+"\n", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		lines := resulttext.Lines(text)
		if strings.Join(lines, "") != text {
			t.Fatal("the lines are not the text")
		}
		for _, line := range lines {
			if len(line) > resulttext.MaxLine+1 || line == "" || strings.Contains(line[:len(line)-1], "\n") {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
		if n := resulttext.Head(lines, limit); n > len(lines) || n == 0 && len(lines) > 0 {
			t.Fatal(n)
		}
		if from := resulttext.Tail(lines, limit); from < 0 || from > len(lines) {
			t.Fatal(from)
		}
	})
}
