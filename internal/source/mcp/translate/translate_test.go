package translate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/gate/schema"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

func compile(raw json.RawMessage) error { _, err := schema.Compile(raw); return err }

func named(names ...string) []translate.Definition {
	defs := make([]translate.Definition, len(names))
	for i, n := range names {
		defs[i].Name = n
	}
	return defs
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		names []string
		want  []string
	}{
		{"plain", []string{"read_file", "create-issue", "x9"}, []string{"read_file", "create-issue", "x9"}},
		{"camels", []string{"getJiraIssue", "getURLs", "HTTPServer"}, []string{"get_jira_issue", "get_urls", "httpserver"}},
		{"separators", []string{"a.b", "c/d", "e f", "g__h", "_i_", "--j--"}, []string{"a_b", "c_d", "e_f", "g_h", "i", "j"}},
		{"accents", []string{"büro_é"}, []string{"buro_e"}},
		{"the one that needs no change keeps its name", []string{"a.b", "a_b", "A_B"}, []string{"a_b_2e5dfb", "a_b", "a_b_1b3b3b"}},
		{"none does", []string{"a.b", "a/b"}, []string{"a_b_2e5dfb", "a_b_d4bd2f"}},
		{"other scripts", []string{"поиск", "найти_x"}, []string{"tool_", "x_"}},
		{"nothing at all", []string{"", "...", "😀"}, []string{"tool_", "tool_", "tool_"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := translate.Names(named(c.names...))
			seen := map[string]bool{}
			for i, name := range got {
				want, hashed := strings.CutSuffix(c.want[i], "_")
				if j := strings.LastIndexByte(c.want[i], '_'); j >= 0 && len(c.want[i])-j == 7 {
					want, hashed = c.want[i][:j], true // which hash is not the point
				}
				if !hashed && name != want || hashed && (!strings.HasPrefix(name, want+"_") || len(name) != len(want)+7) {
					t.Errorf("%q became %q; want %q", c.names[i], name, c.want[i])
				}
				if seen[name] {
					t.Errorf("%q is there twice", name)
				}
				seen[name] = true
			}
		})
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	suffixed := translate.Names(named("resources"), "resources", "prompts")[0]
	if !strings.HasPrefix(suffixed, "resources_") || len(suffixed) != len("resources_")+6 {
		t.Errorf("the name is %q", suffixed)
	}
	// A tool that is named like the suffixed one keeps its name; the other gives way.
	got := translate.Names(named("resources", suffixed, "Prompts", "prompt", "resources.list"), "resources", "prompts")
	if got[1] != suffixed || got[3] != "prompt" || got[4] != "resources_list" {
		t.Errorf("the names are %q", got)
	}
	for i, name := range got {
		if name == "resources" || name == "prompts" || slices.Contains(got[:i], name) {
			t.Errorf("the names are %q", got)
		}
	}
}

func TestNamesDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	names := []string{"a.b", "a_b", "a/b", "Ab", "ab", "поиск", strings.Repeat("x", 100), strings.Repeat("x", 101)}
	first := translate.Names(named(names...))
	reversed := make([]string, len(names))
	for i, n := range names {
		reversed[len(names)-1-i] = n
	}
	for i, got := range translate.Names(named(reversed...)) {
		if want := first[len(names)-1-i]; got != want {
			t.Errorf("%q is %q in one order and %q in another", reversed[i], want, got)
		}
	}
}

// So many names that their short hashes meet.
func TestManyNamesThatAllNeedAHash(t *testing.T) {
	t.Parallel()
	var defs []translate.Definition
	for i := range 20_000 {
		defs = append(defs, translate.Definition{Name: strings.Map(func(r rune) rune { return 'а' + r - '0' }, fmt.Sprint(i))})
	}
	seen := map[string]bool{}
	for _, name := range translate.Names(defs) {
		if seen[name] {
			t.Errorf("%q is there twice", name)
		}
		seen[name] = true
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"a.b\x00a_b", "getUser\x00get_user\x00get-user", "\x00", "ｆｕｌｌ\x00full", "İ\x00i"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, joined string) {
		var defs []translate.Definition
		known := map[string]bool{}
		for _, n := range strings.Split(joined, "\x00") {
			if !known[n] { // the same name twice is one tool
				known[n] = true
				defs = append(defs, translate.Definition{Name: n})
			}
		}
		seen := map[string]string{}
		for i, name := range translate.Names(defs) {
			if _, err := tool.NewID(translate.Namespace(defs[i].Name), name, "1"); err != nil {
				t.Error(err)
			}
			if other, twice := seen[name]; twice {
				t.Errorf("%q and %q are both %q", other, defs[i].Name, name)
			}
			seen[name] = defs[i].Name
		}
	})
}

func TestRisk(t *testing.T) {
	t.Parallel()
	type want struct {
		risk tool.Risk
		side tool.SideEffect
		note bool
	}
	reads, changes, destroys := want{
		tool.Low,
		tool.Read,
		false,
	}, want{
		tool.Medium,
		tool.External,
		false,
	}, want{
		tool.High,
		tool.External,
		false,
	}
	doubted := want{tool.High, tool.External, true}
	for _, c := range []struct {
		name, annotations string
		want              want
	}{
		{"get_user", "", reads},
		{"listRepos", "", reads},
		{"web_search", "", reads},
		{"server-status", "", reads},
		{"get_post", "", reads},
		{"get_start_time", "", reads},
		{"getter", "", changes},
		{"widget_status_update", "", changes},
		{"update_status", "", changes},
		{"list_create", "", changes},
		{"get_or_create", "", changes},
		{"fetch_and_store", "", changes},
		{"check_out_book", "", changes},
		{"account_set_status", "", changes},
		{"manage_task_status", "", changes},
		{"frobnicate", "", changes},
		{"", "", changes},
		{"delete_file", "", destroys},
		{"repo_delete", "", destroys},
		{"removeUser", "", destroys},
		{"undelete_file", "", changes},
		{"frobnicate", `{"readOnlyHint":true}`, reads},
		{"frobnicate", `{"readOnlyHint":true,"destructiveHint":true}`, reads}, // the second is meaningless with the first
		{"frobnicate", `{"destructiveHint":true}`, destroys},
		{"get_user", `{"destructiveHint":true}`, destroys},
		{"get_user", `{"destructiveHint":false}`, changes},
		{"frobnicate", `{"title":"x"}`, changes},
		{"get_user", `{"title":"x","openWorldHint":true}`, reads},
		{"get_user", `"nonsense"`, reads},
		{"delete_all", `{"readOnlyHint":true}`, doubted},
		{"delete_all", `{"destructiveHint":false}`, doubted},
	} {
		r, note := translate.Definition{Name: c.name, Annotations: json.RawMessage(c.annotations)}.Runtime(translate.ToolConfig{})
		if got := (want{r.Risk, r.SideEffect, note != ""}); got != c.want {
			t.Errorf("%s %s: %v; want %v", c.name, c.annotations, got, c.want)
		}
	}
	r, _ := translate.Definition{Name: "write", Annotations: json.RawMessage(`{"idempotentHint":true}`)}.Runtime(translate.ToolConfig{})
	if !r.Idempotent {
		t.Error("an idempotent tool does not count as one")
	}
}

func TestInputSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want, note string }{
		{"valid", `{"type":"object","properties":{"b":{},"a":{}}}`, "", ""},
		{"with a draft and definitions", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"x":{}},"properties":{"a":{"$ref":"#/definitions/x"}}}`, "", ""},
		{"without a type", `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`, ""},
		{"large numbers", `{"properties":{"a":{"maximum":12345678901234567890}}}`, `{"properties":{"a":{"maximum":12345678901234567890}},"type":"object"}`, ""},
		{"missing", ``, `{"type":"object"}`, "no input schema"},
		{"null", `null`, `{"type":"object"}`, "no input schema"},
		{"true", `true`, `{"type":"object"}`, "not an object"},
		{"a text's", `{"type":"string"}`, `{"type":"object"}`, "not one of an object"},
		{"type any", `{"type":"object","properties":{"a":{"type":"any"}}}`, `{"properties":{"a":{}},"type":"object"}`, `the type "any"`},
		{"types of others", `{"type":"dict","properties":{"a":{"type":"int"},"b":{"type":["String","null"]}}}`, `{"properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}},"type":"object"}`, `the type "dict"`},
		{"draft 4", `{"type":"object","properties":{"a":{"minimum":0,"exclusiveMinimum":true,"exclusiveMaximum":false,"maximum":9}}}`, `{"properties":{"a":{"exclusiveMinimum":0,"maximum":9}},"type":"object"}`, "exclusiveM"},
		{"draft 3", `{"type":"object","properties":{"a":{"required":true},"b":{"required":false}}}`, `{"properties":{"a":{},"b":{}},"required":["a"],"type":"object"}`, "required"},
		{"a tuple", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"int"}]}}}`, `{"properties":{"a":{"prefixItems":[{"type":"integer"}],"type":"array"}},"type":"object"}`, "items"},
		{"an enum", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"enum":["x","x"]},"b":{"enum":[]}}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"enum":["x"]},"b":{}},"type":"object"}`, "enum"},
		{"wrapped", `{"type":"object","properties":{"$schema":"x","type":"object","properties":{"a":{}},"required":["a"]}}`, `{"type":"object"}`, "any object"},
		{"wrapped once", `{"type":"object","properties":{"type":"object","properties":{"a":{}},"required":["a"]}}`, `{"properties":{"a":{}},"required":["a"],"type":"object"}`, "inside its own"},
		{"a reference to nowhere", `{"type":"object","properties":{"a":{"$ref":"#/components/x"}}}`, `{"properties":{"a":{}},"type":"object"}`, "$ref"},
		{"hopeless", `{"type":"object","properties":{"a":{"type":{}}}}`, `{"type":"object"}`, "not valid JSON Schema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, note := translate.Definition{Input: json.RawMessage(c.in)}.InputSchema(compile)
			if c.want == "" {
				c.want = c.in
			}
			if string(got) != c.want {
				t.Errorf("%s\nbecame %s\nwant   %s", c.in, got, c.want)
			}
			if (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
				t.Errorf("the note is %q; want %q", note, c.note)
			}
		})
	}
	if got, note := (translate.Definition{Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"any"}}}`)}).InputSchema(nil); len(
		note,
	) > 0 ||
		len(got) < 20 {
		t.Errorf("without a judge: %s, %q", got, note)
	}
}

func FuzzInputSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"any","required":true}},"required":[1]}`)
	f.Add(`{"items":[[{}]],"properties":{"properties":{"type":"object"}},"$ref":"#/a~1b"}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, _ := translate.Definition{Input: json.RawMessage(in)}.InputSchema(compile)
		var root map[string]any
		if json.Unmarshal(got, &root) != nil || root["type"] != "object" {
			t.Errorf("%s became %s", in, got)
		}
		if err := compile(got); err != nil {
			t.Errorf("%s became %s: %v", in, got, err)
		}
	})
}

func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{`{"type":"object"}`: true, `{"type":"array"}`: false, ``: false, `null`: false, `{"type":"object","properties":{"a":{"type":5}}}`: false} {
		got, _ := translate.Definition{Output: json.RawMessage(in)}.OutputSchema(compile)
		if (got != nil) != want {
			t.Errorf("%s gave %s", in, got)
		}
	}
}

func TestDescriptionsAndAliases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d       translate.Definition
		want    string
		aliases []string
	}{
		{translate.Definition{Name: "a_b", Description: " as it is\u200b "}, " as it is\u200b ", []string{"mcp__s__a_b"}},
		{translate.Definition{Name: "a_b", Title: "Do a B"}, "Do a B (a tool of the MCP server s).", []string{"mcp__s__a_b", "Do a B"}},
		{translate.Definition{Name: "a.b", Annotations: json.RawMessage(`{"title":"Read"}`)}, "Read (a tool of the MCP server s).", nil},
		{translate.Definition{Name: "a b"}, "The tool a b of the MCP server s.", nil},
	} {
		if got := c.d.DescriptionFor("s"); got != c.want {
			t.Errorf("%+v is described as %q", c.d, got)
		}
		if diff := cmp.Diff(c.aliases, c.d.Aliases("s")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestFromSDK(t *testing.T) {
	t.Parallel()
	no := false
	got := translate.FromSDK(&sdk.Tool{
		Name: "n", Title: "t", Description: "d", InputSchema: map[string]any{"type": "object", "description": "<b>"},
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, Title: "x"},
	})
	want := translate.Definition{Name: "n", Title: "t", Description: "d", Input: json.RawMessage(`{"description":"<b>","type":"object"}`),
		Annotations: json.RawMessage(`{"title":"x","readOnlyHint":true,"destructiveHint":false}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d := translate.FromSDK(&sdk.Tool{Name: "n", Annotations: &sdk.ToolAnnotations{}}); d.Annotations != nil {
		t.Errorf("annotations that say nothing are %s", d.Annotations)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s, Meta: sdk.Meta{"x": 1}} }
	size := int64(12)
	kept := func(context.Context, []byte) (string, error) { return "sha256:1", nil }
	lost := func(context.Context, []byte) (string, error) { return "", errors.New("disk full") }
	for _, c := range []struct {
		name string
		in   *sdk.CallToolResult
		keep translate.StoreFunc
		want *tool.Result
	}{
		{"text", &sdk.CallToolResult{Content: []sdk.Content{text("hello")}}, nil,
			&tool.Result{Status: tool.Success, Summary: "hello", Content: []tool.Content{tool.Text("hello")}}},
		{"lines", &sdk.CallToolResult{Content: []sdk.Content{text("a\nb\n"), text("c")}}, nil,
			&tool.Result{Status: tool.Success, Summary: "m.t: 3 lines", Content: []tool.Content{tool.Text("a\nb\n"), tool.Text("c")}}},
		{"nothing", &sdk.CallToolResult{}, nil, &tool.Result{Status: tool.Success, Summary: "m.t: done"}},
		{"a picture", &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil,
			&tool.Result{Status: tool.Success, Summary: "m.t: 1 image", Content: []tool.Content{tool.Image("image/png", []byte("png"))}}},
		{"a sound, kept", &sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")}}}, kept,
			&tool.Result{Status: tool.Success, Summary: "[audio, audio/wav, 3 bytes: sha256:1]", ArtifactRef: "sha256:1",
				Content: []tool.Content{tool.Audio("audio/wav", []byte("wav"), "[audio, audio/wav, 3 bytes: sha256:1]")}}},
		{"a sound, left out", &sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")}}}, nil,
			&tool.Result{Status: tool.Success, Summary: "[audio, audio/wav, 3 bytes: left out]", Content: []tool.Content{tool.Audio("audio/wav", []byte("wav"), "[audio, audio/wav, 3 bytes: left out]")},
				Warnings: []string{"the server sent audio, audio/wav, 3 bytes, which cannot be shown; it is left out"}}},
		{"a file, lost", &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "f:x", Blob: []byte("zip")}}}}, lost,
			&tool.Result{Status: tool.Success, Summary: "[resource f:x, 3 bytes: left out]", Content: []tool.Content{{Type: "resource", URI: "f:x", Data: []byte("zip"), Text: "[resource f:x, 3 bytes: left out]"}},
				Warnings: []string{"the server sent resource f:x, 3 bytes, which could not be stored: disk full"}}},
		{"resources", &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "f:y", Text: "why"}}, &sdk.EmbeddedResource{},
			&sdk.ResourceLink{URI: "f:z", Name: "z", Title: "The Z", MIMEType: "text/plain", Size: &size}}}, nil,
			&tool.Result{Status: tool.Success, Summary: "m.t: 3 lines", Content: []tool.Content{tool.Resource("f:y", "", "why"), tool.Text("resource f:z, The Z, text/plain, 12 bytes")}}},
		{"a picture with an address", &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "f:p", MIMEType: "image/png", Blob: []byte("png")}}}}, kept,
			&tool.Result{Status: tool.Success, Summary: "m.t: 1 image", Content: []tool.Content{{Type: "image", URI: "f:p", MIME: "image/png", Data: []byte("png")}}}},
		{"data", &sdk.CallToolResult{StructuredContent: map[string]any{"a": 1.0}, Content: []sdk.Content{text("one")}}, nil,
			&tool.Result{Status: tool.Success, Summary: "m.t: 1 line, 7 bytes of data", Data: json.RawMessage(`{"a":1}`), Content: []tool.Content{tool.Text("one")}}},
		{"data that is told twice", &sdk.CallToolResult{StructuredContent: map[string]any{"id": 1234567890123456789.0, "z": "<"}, Content: []sdk.Content{text(`{"z": "<", "id": 1234567890123456789}`)}}, nil,
			&tool.Result{Status: tool.Success, Summary: `{"z":"<","id":1234567890123456789}`, Data: json.RawMessage(`{"z":"<","id":1234567890123456789}`), Content: []tool.Content{}}},
		{"data that may be rounded", &sdk.CallToolResult{StructuredContent: []any{1e18}}, nil,
			&tool.Result{Status: tool.Success, Summary: `[1000000000000000000]`, Data: json.RawMessage(`[1000000000000000000]`),
				Warnings: []string{"the data holds whole numbers above 2^53, which may be rounded"}}},
		{"a failure", &sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no such file")}}, nil,
			&tool.Result{Status: tool.Failure, Summary: "no such file", Error: &tool.Error{Op: "mcp.call", Kind: tool.Failed, Message: "no such file"}}},
		{"a failure without words", &sdk.CallToolResult{IsError: true}, nil,
			&tool.Result{Status: tool.Failure, Summary: "m.t failed, and its server does not say why",
				Error: &tool.Error{Op: "mcp.call", Kind: tool.Failed, Message: "m.t failed, and its server does not say why"}}},
		{"a failure with data", &sdk.CallToolResult{IsError: true, StructuredContent: map[string]any{"code": 5.0}}, nil,
			&tool.Result{Status: tool.Failure, Summary: `m.t failed: {"code":5}`, Data: json.RawMessage(`{"code":5}`),
				Error: &tool.Error{Op: "mcp.call", Kind: tool.Failed, Message: `m.t failed: {"code":5}`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, translate.Result(t.Context(), "m.t", c.in, c.keep)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLongFailuresKeepTheirContent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words ", 1000)
	r := translate.Result(t.Context(), "m.t", &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: long}}}, nil)
	if len(r.Error.Message) > 3<<10 || len(r.Content) != 1 || r.Content[0].Text != long {
		t.Errorf("%d bytes of error, content %v", len(r.Error.Message), len(r.Content))
	}
	big := translate.Result(
		t.Context(),
		"m.t",
		&sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 6<<20)}}},
		nil,
	)
	if len(big.Warnings) != 1 || big.Content[0].Type != "text" {
		t.Errorf("a picture that is too large gave %v", big.Warnings)
	}
}

// What is neither text nor picture goes along within bounds, and is told in
// words whatever its size.
func TestSoundsHaveBounds(t *testing.T) {
	t.Parallel()
	kept := func(context.Context, []byte) (string, error) { return "sha256:1", nil }
	sound := func(size int) sdk.Content { return &sdk.AudioContent{MIMEType: "audio/wav", Data: make([]byte, size)} }
	r := translate.Result(
		t.Context(),
		"m.t",
		&sdk.CallToolResult{Content: []sdk.Content{sound(6 << 20), sound(4 << 20), sound(4 << 20), sound(4 << 20), sound(1 << 20)}},
		kept,
	)
	var got []string
	for _, c := range r.Content {
		if !strings.HasPrefix(c.Text, "[audio, audio/wav, ") {
			t.Errorf("it is told as %q", c.Text)
		}
		got = append(got, fmt.Sprintf("%s %d", c.Type, len(c.Data)>>20))
	}
	if diff := cmp.Diff([]string{"text 0", "audio 4", "audio 4", "text 0", "audio 1"}, got); diff != "" {
		t.Error(diff)
	}
}

func ExampleNames() {
	fmt.Println(translate.Names([]translate.Definition{{Name: "getUser"}, {Name: "repo/list"}}))
	// Output: [get_user repo_list]
}
