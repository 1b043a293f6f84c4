package scripted

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// What a model understands of what a result says about the rest.
func TestMore(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of a file\n", 300)
	for name, c := range map[string]struct {
		text   string
		cut    bool
		offset int
		tool   string
	}{
		"nothing is said":        {lines, false, 0, ""},
		"lines of all lines":     {lines + "[lines 1–2000 of 2500; continue with offset=2001]", true, 2001, ""},
		"all the lines":          {lines + "[lines 1 to 300 of 300]", false, 0, ""},
		"that it was cut":        {lines + "[200 of more matches; narrow path or glob]", true, 0, ""},
		"a file is no tool":      {"a.conf: lines 1 to 2000 of 2500; continue with offset=2001\n" + lines, true, 2001, ""},
		"a tool after a verb":    {lines + "[lines 1–9 and 20–30 of 30; continue with artifact__read ref=x offset=10]", true, 10, "artifact__read"},
		"a tool gives the rest":  {lines + `[cut off; the rest: artifact.read {"ref": "a1"}]`, true, 0, "artifact.read"},
		"data says it is whole":  {lines + `{"matches":3,"truncated":false}`, false, 0, ""},
		"data says it is cut":    {lines + `{"matches":3,"truncated":true}`, true, 0, ""},
		"the middle is left out": {"a\n[… 9000 bytes omitted …]\n" + lines, true, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := more(c.text)
			var next told
			if len(got.next) > 0 {
				next = got.next[0]
			}
			if at, _ := next.args["offset"].(int); got.cut != c.cut || at != c.offset || next.tool != c.tool {
				t.Errorf("%+v, want %+v", got, c)
			}
		})
	}
}

func TestErrorsAreRead(t *testing.T) {
	t.Parallel()
	if got := meant(`not_found: no tool is called "Raed"; did you mean filesystem.read or filesystem.write?`); !slices.Equal(got,
		[]string{"filesystem.read", "filesystem.write"}) {
		t.Errorf("meant %q", got)
	}
	if s, ok := schemaIn("wrong {oops\nschema: {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}}}"); !ok || !s.has("path") {
		t.Errorf("schema %+v", s)
	}
	if e := exampleIn("example: {\"path\":\"a.txt\"}\nmore"); e["path"] != "a.txt" {
		t.Errorf("example %v", e)
	}
	if p := similarPath(`there is no "conf/a.yaml"; did you mean "config/a.yaml"?`, "conf/a.yaml"); p != "config/a.yaml" {
		t.Errorf("path %q", p)
	}
}

func TestToolsInText(t *testing.T) {
	t.Parallel()
	const prompt = "The tools:\n\n## files__read\nRead.\n\n- `head`: the first lines\nExample: {\"path\":\"a\"}\n" +
		"parameters: {\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}\n\n" +
		"## files__write\nparameters: {\"type\":\"object\",\"properties\":{\"content\":{}}}\n"
	tools := toolsInText(prompt)
	if len(tools) != 2 || tools[0].Name != "files__read" || !tools[0].Schema.has("path") || tools[1].Name != "files__write" {
		t.Errorf("%+v", tools)
	}
}

// A model reads on where it is told that more follows, and stops where it is not.
func TestStopsWhereNothingIsSaid(t *testing.T) {
	t.Parallel()
	read := Tool{Name: "files__read"}
	read.Schema, _ = schemaIn(`{"properties": {"path": {"type": "string"}, "offset": {"type": "integer"}}}`)
	for name, c := range map[string]struct{ result, want string }{
		"told":     {"line\n[lines 1–2000 of 2500; continue with offset=2001]", `files__read {"offset":2001,"path":"a"}`},
		"not told": {"line\n", "not there"},
		"found":    {"it is 7\n", "It is 7."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := HabitsOf("careful")
			m := NewModel(h, "", []Step{
				{Read: "a", Expected: Expected{Find: `it is (\d)`, As: "n"}}, {Say: "It is {n}."},
			})
			r := &Request{Tools: []Tool{read}, Messages: []Message{{Role: "user", Text: "which number?"}}}
			first := m.Next(r)
			if len(first.Calls) != 1 || first.Calls[0].Args != `{"path":"a"}` {
				t.Fatalf("%+v", first)
			}
			r.Messages = append(r.Messages, Message{Role: "assistant"},
				Message{Role: "user", Results: []Result{{Call: first.Calls[0].ID, Text: c.result}}})
			next := m.Next(r)
			said := next.Text
			for _, call := range next.Calls {
				said += call.Name + " " + call.Args
			}
			if !strings.Contains(said, c.want) {
				t.Errorf("it says %q, want %q", said, c.want)
			}
		})
	}
}

// What a model writes as a patch are lines of the file, not how they were shown.
func TestPatchHasLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	step := Step{Edit: "a.txt", Edits: []Change{{"one", "1"}, {"two", "2"}}}
	got := patchOf(step, "     1\tand one\n     2\tx\n@@ line 3 @@\n-two\n+so two\n")
	if want := "@@\n-and one\n+and 1\n@@\n-so two\n+so 2\n*** End"; !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
}

// A schema that is shown is followed by all but stubborn models.
func TestParameters(t *testing.T) {
	t.Parallel()
	s, _ := schemaIn(`{"properties": {"path": {"type": "string"}}}`)
	for kind, want := range map[string][2]string{
		"claude": {"path", "file_path"}, "gemini": {"path", "absolute_path"}, "small": {"filename", "filename"},
		"careful": {"path", "path"},
	} {
		h, _ := HabitsOf(kind)
		m := NewModel(h, "", nil)
		w := newWork(h, Step{Read: "a"})
		if shown, hidden := w.param(m, s, path), w.param(m, Schema{}, path); shown != want[0] || hidden != want[1] {
			t.Errorf("%s writes %s where a schema is shown, and %s where none is", kind, shown, hidden)
		}
	}
}

// A picture on the wire is looked at.
func TestPictures(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := image.NewRGBA(image.Rect(0, 0, 4, 4))
	draw.Draw(p, p.Bounds(), image.NewUniform(color.RGBA{0x20, 0x60, 0xc0, 0xff}), image.Point{}, draw.Src)
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(b.Bytes())
	for name, raw := range map[string]string{
		"anthropic": `[{"type":"image","source":{"type":"base64","data":"` + data + `"}}]`,
		"openai":    `[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]`,
	} {
		if got := words(json.RawMessage(raw)); !strings.Contains(got, "#2060c0") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := words(json.RawMessage(`[{"type":"text","text":"no picture"}]`)); got != "no picture" {
		t.Errorf("%q", got)
	}
}

// Whatever a program sends, a model answers.
func FuzzRequests(f *testing.F) {
	f.Add(`{"system":"x","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"a"}]}]}`)
	f.Add(`{"messages":[{"role":"system","content":"## a__b\n{\"properties\":{}}"},{"role":"tool","content":"error: offset=3"}]}`)
	f.Add(`{"messages":[{"role":"user","content":"<tool_result name=\"x\">\n{\n</tool_result> did you mean a.b(c={}"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, read := range []func([]byte) (*Request, error){readAnthropic, readOpenAI, readText} {
			r, err := read([]byte(body))
			if err != nil {
				continue
			}
			for _, kind := range Kinds() {
				h, _ := HabitsOf(kind)
				m := NewModel(h, "", []Step{{Read: "a", Expected: Expected{Find: "x(y)", As: "z"}}, {Say: "{z}"}})
				m.Next(r)
				m.Next(r)
			}
		}
	})
}
