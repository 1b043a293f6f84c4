package argv_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/cli/argv"
	"callgate/tool"
)

const schema = `{
  "type": "object",
  "properties": {
    "recursive":   {"type": "boolean", "default": false, "description": "and what is below"},
    "path":        {"type": "string", "description": "the file"},
    "max_results": {"type": "integer", "default": 100},
    "ratio":       {"type": "number"},
    "tags":        {"type": "array", "items": {"type": "string"}},
    "lines":       {"type": "array", "items": {"type": "integer"}},
    "matrix":      {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    "headers":     {"type": "object"},
    "content":     {"type": ["string", "null"]},
    "mode":        {"enum": ["fast", "slow"]},
    "json":        {"$ref": "#/$defs/body"},
    "where":       {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "anything":    true,
    "workspace":   {"type": "string"},
    "no_cache":    {"type": "boolean"}
  },
  "required": ["path"],
  "$defs": {"body": {"type": ["object", "string"]}}
}`

func own() []argv.CommandFlag {
	return []argv.CommandFlag{
		{Name: "state", Takes: true}, {Name: "workspace", Short: "C", Takes: true},
		{Name: "json", Yields: true}, {Name: "no-wait", Yields: true}, {Name: "help", Short: "h", Yields: true},
	}
}

func params(t testing.TB, text string) []argv.Param {
	t.Helper()
	list, err := argv.Params(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestParse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(file, []byte(`{"path": "from file", "ratio": 12345678901234567890}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		argv  string // words parted by |
		stdin string
		want  string
		own   []argv.FlagValue
	}{
		{name: "nothing", argv: "", want: `{}`},
		{name: "a value in the next word", argv: "--path|README.md", want: `{"path":"README.md"}`},
		{name: "a value after =", argv: "--path=a=b", want: `{"path":"a=b"}`},
		{name: "an empty value", argv: "--path=", want: `{"path":""}`},
		{name: "a string that looks like a number", argv: "--path|42", want: `{"path":"42"}`},
		{name: "a string that looks like JSON", argv: `--path|{"a":1}`, want: `{"path":"{\"a\":1}"}`},
		{name: "a string that may be null", argv: "--content|null", want: `{"content":"null"}`},
		{name: "letters that JSON would escape", argv: "--path|<a&b>", want: `{"path":"<a&b>"}`},
		{name: "a negative number", argv: "--ratio|-1.5", want: `{"ratio":-1.5}`},
		{name: "a number kept to the digit", argv: "--ratio|12345678901234567890", want: `{"ratio":12345678901234567890}`},
		{name: "no number, for the kernel to judge", argv: "--max-results|ten", want: `{"max_results":"ten"}`},
		{name: "a boolean alone", argv: "--recursive", want: `{"recursive":true}`},
		{name: "a boolean alone, before another flag", argv: "--recursive|--path|x", want: `{"path":"x","recursive":true}`},
		{name: "a boolean with =", argv: "--recursive=false", want: `{"recursive":false}`},
		{name: "a boolean with a word", argv: "--recursive|false", want: `{"recursive":false}`},
		{name: "a boolean the kernel may coerce", argv: "--recursive=yes", want: `{"recursive":"yes"}`},
		{name: "a boolean denied", argv: "--no-recursive", want: `{"recursive":false}`},
		{name: "a parameter whose name begins with no", argv: "--no-cache", want: `{"no_cache":true}`},
		{name: "a list by repeating", argv: "--tags|a|--tags|b", want: `{"tags":["a","b"]}`},
		{name: "a list of one", argv: "--tags|a", want: `{"tags":["a"]}`},
		{name: "a list as JSON", argv: `--tags|["a","b"]|--tags|c`, want: `{"tags":["a","b","c"]}`},
		{name: "an empty list", argv: `--tags|[]`, want: `{"tags":[]}`},
		{name: "a list of numbers", argv: "--lines|1|--lines|2", want: `{"lines":[1,2]}`},
		{name: "a list of lists, one at a time", argv: "--matrix|[1,2]|--matrix|[3]", want: `{"matrix":[[1,2],[3]]}`},
		{name: "a list of lists, whole", argv: "--matrix|[[1,2],[3]]", want: `{"matrix":[[1,2],[3]]}`},
		{name: "one or several", argv: "--where|a|--where|b", want: `{"where":["a","b"]}`},
		{name: "one of one or several", argv: "--where|a", want: `{"where":"a"}`},
		{name: "an object", argv: `--headers|{"A": 1}`, want: `{"headers":{"A":1}}`},
		{name: "an enum", argv: "--mode|fast", want: `{"mode":"fast"}`},
		{name: "anything that is JSON", argv: "--anything|[1]", want: `{"anything":[1]}`},
		{name: "anything that is not", argv: "--anything|word", want: `{"anything":"word"}`},
		{name: "other separators", argv: "--max_results|1", want: `{"max_results":1}`},
		{name: "other case", argv: "--maxResults|1", want: `{"max_results":1}`},
		{name: "standard input", argv: "--content|-", stdin: "two\nlines\n", want: `{"content":"two\nlines\n"}`},
		{name: "all at once", argv: `--args|{"path":"x","other":1}`, want: `{"path":"x","other":1}`},
		{name: "flags over all at once", argv: `--args={"path":"x","ratio":1}|--path|y`, want: `{"path":"y","ratio":1}`},
		{name: "flags before all at once", argv: `--path|y|--args|{"path":"x"}`, want: `{"path":"y"}`},
		{name: "all from a file", argv: "--args|@" + file, want: `{"path":"from file","ratio":12345678901234567890}`},
		{name: "all from standard input", argv: "--args|-", stdin: `{"path":"in"}`, want: `{"path":"in"}`},
		{name: "own flags among them", argv: "--state|dir|--path|x|--no-wait|-h|-Cthere", want: `{"path":"x"}`,
			own: []argv.FlagValue{{Name: "state", Value: "dir"}, {Name: "no-wait", Value: "true"}, {Name: "help", Value: "true"}, {Name: "workspace", Value: "there"}}},
		{name: "a parameter before an own flag that yields", argv: `--json|{"a":1}`, want: `{"json":{"a":1}}`},
		{name: "after -- every flag is the tool's", argv: "--|--workspace|here", want: `{"workspace":"here"}`},
		{name: "a value that looks like a flag nobody has", argv: "--path|--strange", want: `{"path":"--strange"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var words []string
			if c.argv != "" {
				words = strings.Split(c.argv, "|")
			}
			cmd := argv.Command{Tool: "demo.find", Params: params(t, schema), Own: own(), Stdin: strings.NewReader(c.stdin)}
			line, err := cmd.Parse(words)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.own, line.Own); diff != "" {
				t.Errorf("own flags (-want +got):\n%s", diff)
			}
			if got := compact(t, line.Args); got != compact(t, []byte(c.want)) {
				t.Errorf("args are %s, want %s", got, c.want)
			}
		})
	}
}

// compact writes JSON with sorted keys and numbers as they were.
func compact(t testing.TB, data []byte) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, argv, message, similar, hint string
	}{
		{"a misspelt flag", "--pth|x", "demo.find has no parameter --pth", "--path", "its parameters: --path (required), --recursive"},
		{"a misspelt flag with a value", "--recursve=1", "no parameter --recursve", "--recursive", ""},
		{"a misspelt flag of ours", "--no-wiat", "no parameter --no-wiat", "--no-wait", ""},
		{"an unknown letter", "-x", "no parameter --x", "", "its parameters"},
		{"a flag without its value", "--path", "--path needs a value (string)", "", "--path=VALUE"},
		{"a flag in place of a value", "--path|--recursive", "--path needs a value", "", ""},
		{"a word alone", "README.md", `"README.md" stands alone`, "--path README.md", "its parameters"},
		{"a dash alone", "-", `"-" stands alone`, "", ""},
		{"a value given twice", "--path|a|--path|b", "--path is given twice", "", ""},
		{"a boolean given twice", "--recursive|--no-recursive", "--recursive is given twice", "", ""},
		{"an object that is not JSON", "--headers|a=b", "--headers takes an object as JSON text", "", `--headers '{"name": "value"}'`},
		{"all at once, twice", "--args|{}|--args|{}", "--args is given twice", "", ""},
		{"all at once, not an object", "--args|[1]", "--args must be one JSON object", "", "@file"},
		{"all at once, of nothing", "--args", "--args needs a value", "", ""},
		{"a file that is not there", "--args|@nowhere.json", "the file for --args cannot be read", "", ""},
		{"standard input twice", "--content|-|--path|-", "--content and --path both read standard input", "", ""},
		{"a flag that is both", "--workspace|x", "--workspace is a flag of this command and a parameter of demo.find", "", "after a --"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := argv.Command{Tool: "demo.find", Params: params(t, schema), Own: own(), Stdin: strings.NewReader("")}
			_, err := cmd.Parse(strings.Split(c.argv, "|"))
			e, ok := err.(*tool.Error)
			if !ok || e.Kind != tool.Invalid {
				t.Fatalf("error is %v, want an Invalid one", err)
			}
			if !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("it says %q (%q), want %q (%q)", e.Message, e.Hint, c.message, c.hint)
			}
			if c.similar != "" && (len(e.Similar) == 0 || e.Similar[0] != c.similar) {
				t.Errorf("it suggests %q, want %q", e.Similar, c.similar)
			}
		})
	}
}

func TestParseLoosely(t *testing.T) {
	cmd := argv.Command{Tool: "demo.gone", Own: own(), AllowUnknown: true}
	line, err := cmd.Parse([]string{"--max-lines", "5", "--deep", "--state", "dir", "--path=x", "--last"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := compact(t, line.Args), `{"deep":true,"last":true,"max_lines":5,"path":"x"}`; got != want {
		t.Errorf("args are %s, want %s", got, want)
	}
	if diff := cmp.Diff([]argv.FlagValue{{Name: "state", Value: "dir"}}, line.Own); diff != "" {
		t.Errorf("own flags (-want +got):\n%s", diff)
	}
}

func TestParams(t *testing.T) {
	var got []string
	for _, p := range params(t, schema) {
		got = append(got, p.Flag()+" "+p.Type())
	}
	want := []string{
		"path string", "recursive boolean", "max-results integer", "ratio number", "tags list of string", "lines list of integer",
		"matrix list of array", "headers object", "content string", "mode fast|slow", "json object|string", "where string|array",
		"anything any", "workspace string", "no-cache boolean",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	branching := `{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 50) + `true]}}}`
	for _, circular := range []string{branching, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`} {
		params(t, circular) // comes to an end
	}
}

func TestScan(t *testing.T) {
	got := argv.Scan(own(), []string{"--path", "x", "--state=dir", "-C", "here", "--json", "--", "--state", "tool's"})
	want := []argv.FlagValue{{Name: "state", Value: "dir"}, {Name: "workspace", Value: "here"}, {Name: "json", Value: "true"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("own flags (-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{}`, ``},
		{`{"path":"README.md"}`, `--path README.md`},
		{`{"path":"it's here"}`, `--path 'it'\''s here'`},
		{`{"path":"-x"}`, `--path=-x`},
		{`{"path":""}`, `--path ''`},
		{`{"path":"-"}`, `--args '{"path":"-"}'`},
		{`{"recursive":true,"path":"a"}`, `--path a --recursive`},
		{`{"recursive":false}`, `--recursive=false`},
		{`{"tags":["a","b c"]}`, `--tags a --tags 'b c'`},
		{`{"tags":["[1]"]}`, `--tags '["[1]"]'`},
		{`{"max_results":5}`, `--max-results 5`},
		{`{"headers":{"A":1}}`, `--headers '{"A":1}'`},
		{`{"other":1}`, `--args '{"other":1}'`},
	} {
		if got := argv.Write(params(t, schema), json.RawMessage(c.args)); got != c.want {
			t.Errorf("%s is written %s, want %s", c.args, got, c.want)
		}
	}
}

func FuzzWriteThenParse(f *testing.F) {
	for _, seed := range []string{`{"path":"a"}`, `{"tags":["-","[1]",""],"lines":[1,-2]}`, `{"where":["x"],"anything":"5","content":null}`, `{"matrix":[[1],[2]],"ratio":1e3}`} {
		f.Add(seed)
	}
	list := params(f, schema)
	f.Fuzz(func(t *testing.T, args string) {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(args), &fields) != nil || fields == nil || strings.Contains(args, "\x00") {
			t.Skip()
		}
		words, ok := unquote(argv.Write(list, json.RawMessage(args)))
		if !ok {
			t.Fatalf("%s is written in words that no shell reads", args)
		}
		line, err := argv.Command{Tool: "demo.find", Params: list}.Parse(words)
		if err != nil {
			t.Fatalf("%s is written as %q, which is refused: %v", args, words, err)
		}
		var want, got any
		if json.Unmarshal([]byte(args), &want) != nil || json.Unmarshal(line.Args, &got) != nil {
			t.Fatalf("%s came back as %s", args, line.Args)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s was written as %q and read otherwise (-want +got):\n%s", args, words, diff)
		}
	})
}

// unquote parts words as a POSIX shell does, for what ShellQuote writes.
func unquote(text string) (words []string, ok bool) {
	var word strings.Builder
	inside, begun, escaped := false, false, false
	for _, r := range []byte(text) {
		switch {
		case escaped:
			word.WriteByte(r)
			escaped = false
		case r == '\'':
			inside, begun = !inside, true
		case inside:
			word.WriteByte(r)
		case r == '\\':
			escaped, begun = true, true
		case r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteByte(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, !inside && !escaped
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"--path|x", "--args|{}", "--|--a=b", "-C|-", "--tags|[|--tags|]"} {
		f.Add(seed)
	}
	list := params(f, schema)
	f.Fuzz(func(t *testing.T, words string) {
		if strings.Contains(words, "@") {
			t.Skip() // no files
		}
		line, err := argv.Command{Tool: "demo.find", Params: list, Own: own()}.Parse(strings.Split(words, "|"))
		var fields map[string]json.RawMessage
		if err == nil && (json.Unmarshal(line.Args, &fields) != nil || fields == nil) {
			t.Errorf("%q gave %s, which is no object", words, line.Args)
		}
		if err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q gave an error of kind %s: %v", words, tool.KindOf(err), err)
		}
	})
}

func FuzzParams(f *testing.F) {
	f.Add(schema)
	f.Add(`{"properties":{"a":{"type":"string"},"a":{"$ref":"#"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := argv.Params(json.RawMessage(text))
		if err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("an error of kind %s: %v", tool.KindOf(err), err)
		}
		for _, p := range list {
			_ = p.Type()
		}
	})
}
