package surface_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/agent/surface"
	"callgate/tool"
)

const anyObject = `{"type":"object"}`

// item returns a tool with a dotted name, a description and a schema.
func item(dotted, description, input string) surface.Item {
	at := strings.LastIndexByte(dotted, '.')
	return surface.Item{
		Tool: &tool.Tool{
			ID:   tool.ID{Namespace: dotted[:at], Name: dotted[at+1:], Version: tool.Version{Major: 1}},
			Spec: tool.Spec{Name: dotted, Description: description, Input: json.RawMessage(input)},
		},
		Wire: tool.WireName(dotted),
	}
}

// control returns the kernel's own tools, the five discovery tools and some
// primitives, with texts of realistic length.
func control() []surface.Item {
	name := func(name, description, input string) surface.Item {
		i := item("context_builder."+name, description, input)
		i.Wire = name
		return i
	}
	return []surface.Item{
		name("run_parallel", "Run several calls at once; the results come in the order of the calls.",
			`{"type":"object","properties":{"actions":{"type":"array","maxItems":50}},"required":["actions"]}`),
		name("browse_category", "List the tools of one category, 20 to a page, with one line about each.",
			`{"type":"object","properties":{`+
				`"category":{"type":"string","maxLength":128,"description":"its id, as list_categories gives it"},`+
				`"page":{"type":"integer","minimum":1,"default":1}},"required":["category"]}`),
		name("search_tools",
			"Find tools by what you want to do, in any language. Not all tools are listed to you: "+
				"look here before you say that something cannot be done. {{catalog}} "+
				"Give one query, or several in queries for a task with several parts; "+
				"parts that nothing answers come back in unmatched. "+
				"Then call a tool that was found by its name, or with execute_tool.",
			`{"type":"object","properties":{
			"query":{"type":"string","maxLength":500,"description":"what you want to do, in your own words"},
			"queries":{"type":"array","items":{"type":"string","maxLength":500},"maxItems":20,
				"description":"several queries at once"},
			"max_results":{"type":"integer","minimum":1,"maximum":20,"default":5,"description":"for each query"},
			"category":{"type":"string","maxLength":128,"description":"only tools of this category"},
			"max_risk":{"type":"string","enum":["low","medium","high"]},
			"detail":{"type":"boolean","default":false,"description":"whole parameter schemas too"},
			"limit":{"type":"integer","minimum":1,"maximum":200,"x-hidden":true}}}`),
		name("get_tool",
			"Everything about one tool: what it does, its parameters as a JSON Schema, examples, risk. "+
				"Use it before you call a tool whose parameters you do not know.",
			`{"type":"object","properties":{`+
				`"name":{"type":"string","maxLength":256,"description":"the tool's name, as search_tools gives it"},`+
				`"tool_name":{"type":"string","x-hidden":true}}}`),
		name("execute_tool",
			"Call any tool by its name, with its parameters in params. "+
				"If the parameters are wrong the answer says how, with the schema: mend them and call again.",
			`{"type":"object","properties":{"name":{"type":"string","maxLength":256,"description":"the tool's name"},`+
				`"params":{"type":"object","description":"the tool's parameters"}},"additionalProperties":true}`),
		name("list_categories",
			"List the categories of tools there are, with the number of tools in each. {{catalog}}",
			`{"type":"object","properties":{"page":{"type":"integer","minimum":1,"default":1}}}`),
		name("ask_user", "Ask the human a question and wait for the answer.",
			`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`),
	}
}

// catalog returns the public catalog of real tools, or skips the test.
func catalog(t testing.TB) []surface.Item {
	t.Helper()
	all, err := readCatalog()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("needs ../shared/bench/mcp-catalog")
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("%d tools read: %v", len(all), err)
	}
	return slices.Clone(all)
}

var readCatalog = sync.OnceValues(func() ([]surface.Item, error) {
	at, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	var file *os.File
	for file == nil {
		file, err = os.Open(filepath.Join(at, "shared", "bench", "mcp-catalog", "tools.jsonl"))
		if err != nil && at == filepath.Dir(at) {
			return nil, err
		}
		at = filepath.Dir(at)
	}
	defer file.Close()
	var out []surface.Item
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line struct {
			Name, Description, Server string
			Parameters                json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, err
		}
		out = append(out, item(slug(line.Server)+"."+slug(line.Name), line.Description, string(line.Parameters)))
	}
	return out, lines.Err()
})

func slug(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
}

// shown returns the wire names of a plan.
func shown(p *surface.Plan) string {
	var names []string
	for _, e := range p.Shown {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// entry returns the entry of a plan with a wire name.
func entry(t testing.TB, p *surface.Plan, wire string) surface.Entry {
	t.Helper()
	for _, e := range p.Shown {
		if e.Name == wire {
			return e
		}
	}
	t.Fatalf("%s is not shown; shown are %s", wire, shown(p))
	return surface.Entry{}
}

// array returns the tool array as it is sent.
func array(t testing.TB, p *surface.Plan) []byte {
	t.Helper()
	list := make([]json.RawMessage, len(p.Shown))
	for i, e := range p.Shown {
		list[i] = e.Definition()
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(list); err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSpace(b.String()))
}
