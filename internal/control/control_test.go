package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/surface"
	"callgate/internal/control"
	"callgate/internal/search"
	"callgate/tool"
)

// stage is a session with tools of its own making.
type stage struct {
	modules []control.Module
	catalog *search.Catalog
	called  []string // parent, name and arguments of what was called
	asked   search.Request
	waited  time.Duration
}

func newStage(t testing.TB) *stage {
	t.Helper()
	s := &stage{}
	var all []*tool.Tool
	for _, module := range []string{"files", "mail"} {
		m := control.Module{Name: module, Summary: "all about " + module}
		for i := range 25 {
			x := &tool.Tool{
				ID: tool.ID{Namespace: module, Name: fmt.Sprintf("act_%02d", i), Version: tool.Version{Major: 1}},
				Spec: tool.Spec{
					Description: fmt.Sprintf("Does %s thing %d. And more.", module, i),
					Input: json.RawMessage(
						`{"type":"object","properties":{"path":{"type":"string"},"secret_knob":{"type":"string","x-hidden":true}},"required":["path"]}`,
					),
				},
				Runtime: tool.Runtime{Risk: tool.High},
			}
			m.Tools = append(m.Tools, x)
			all = append(all, x)
		}
		s.modules = append(s.modules, m)
	}
	var err error
	if s.catalog, err = search.New(search.Options{}).Catalog(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) Search(ctx context.Context, r search.Request) (*search.Response, error) {
	s.asked = r
	return s.catalog.Search(ctx, r)
}

func (s *stage) Tool(_ context.Context, name string) (control.ToolView, error) {
	for _, m := range s.modules {
		for _, x := range m.Tools {
			if x.ID.Dotted() == name {
				return control.ToolView{Tool: x, Policy: "approve"}, nil
			}
		}
	}
	return control.ToolView{}, tool.Errorf("stage", tool.NotFound, "no %s", name)
}

func (s *stage) Modules(context.Context) ([]control.Module, error) { return s.modules, nil }

func (s *stage) CallChild(_ context.Context, parent, name string, args json.RawMessage) *tool.Result {
	s.called = append(s.called, parent+" "+name+" "+string(args))
	return &tool.Result{Status: tool.Success, Summary: "ran"}
}

func (s *stage) Collect(_ context.Context, approval string, wait time.Duration) (*tool.Result, error) {
	s.waited = wait
	if approval != "a1" {
		return nil, tool.Errorf("stage", tool.NotFound, "no %s", approval)
	}
	return &tool.Result{Status: tool.Success, Summary: "ran", Call: "c0"}, nil
}

// call calls a control tool as the gate would.
func (s *stage) call(t testing.TB, name, args string) (*tool.Result, error) {
	t.Helper()
	for _, x := range control.Tools(func(id string) (control.Session, error) {
		if id != "s1" {
			return nil, tool.Errorf("stage", tool.NotFound, "no session %s", id)
		}
		return s, nil
	}) {
		if x.ID.Name == name {
			if err := x.Validate(); err != nil {
				t.Fatal(err)
			}
			return x.Handler.Execute(
				t.Context(),
				tool.Call{ID: "c1", Tool: x.ID, Principal: tool.Principal{Session: "s1"}, Args: json.RawMessage(args)},
				tool.Grant{},
			)
		}
	}
	t.Fatalf("there is no %s", name)
	return nil, nil
}

func data(t testing.TB, r *tool.Result, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(r.Data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSearchTools(t *testing.T) {
	s := newStage(t)
	r, err := s.call(t, "search_tools", `{"query":"mail thing 3","max_results":2}`)
	m := data(t, r, err)
	tools := m["tools"].([]any)
	first := tools[0].(map[string]any)
	if len(tools) != 2 || m["count"] != 2.0 || first["name"] != "mail.act_03" || first["params_summary"] != "path: str, secret_knob?: str" ||
		first["risk_level"] != "high" ||
		first["parameters"] != nil ||
		first["relevance"].(float64) <= 0 {
		t.Errorf("got %v", m)
	}
	r, err = s.call(t, "search_tools", `{"query":"thing 3","category":"FILES","detail":true,"limit":1,"page":2}`)
	m = data(t, r, err)
	if s.asked.Offset != 1 || s.asked.Limit != 1 || s.asked.Filter.Modules[0] != "files" {
		t.Errorf("asked %+v", s.asked)
	}
	if schema := fmt.Sprint(m["tools"].([]any)[0].(map[string]any)["parameters"]); strings.Contains(schema, "secret_knob") ||
		!strings.Contains(schema, "path") {
		t.Errorf("the whole schema is %s", schema)
	}
	r, err = s.call(t, "search_tools", `{"queries":["mail thing 3","zzzz"]}`)
	m = data(t, r, err)
	if diff := cmp.Diff([]any{"zzzz"}, m["unmatched"]); diff != "" || len(m["results"].([]any)) != 2 || !strings.Contains(r.Summary, "zzzz") {
		t.Errorf("several queries: %v %s", m, diff)
	}
	r, err = s.call(t, "search_tools", `{}`) // nothing asked for: what there is
	if m = data(t, r, err); m["total_tools"] != 50.0 {
		t.Errorf("no query: %v", m)
	}
	r, err = s.call(t, "search_tools", `{"category":"mail","max_results":3}`)
	if m = data(t, r, err); len(m["tools"].([]any)) != 3 {
		t.Errorf("a category alone: %v", m)
	}
}

func TestGetTool(t *testing.T) {
	s := newStage(t)
	for _, args := range []string{`{"name":"mail.act_01"}`, `{"tool_name":"mail.act_01"}`, `{"tool":" mail.act_01 "}`} {
		r, err := s.call(t, "get_tool", args)
		m := data(t, r, err)
		if m["name"] != "mail.act_01" || m["module"] != "mail" || m["policy"] != "approve" || m["irreversible"] != true ||
			m["side_effects"] != "write" ||
			strings.Contains(fmt.Sprint(m["parameters"]), "secret_knob") {
			t.Errorf("%s: %v", args, m)
		}
		for _, unneeded := range []string{"tags", "aliases", "output_schema"} { // of no use for a call, and long
			if m[unneeded] != nil {
				t.Errorf("%s: it has %s", args, unneeded)
			}
		}
	}
	if _, err := s.call(t, "get_tool", `{}`); tool.KindOf(err) != tool.Invalid {
		t.Errorf("no name: %v", err)
	}
	if _, err := s.call(t, "get_tool", `{"name":"mail.none"}`); tool.KindOf(err) != tool.NotFound {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestCategories(t *testing.T) {
	s := newStage(t)
	r, err := s.call(t, "list_categories", `{}`)
	m := data(t, r, err)
	want := []any{
		map[string]any{"id": "files", "summary": "all about files", "tool_count": 25.0},
		map[string]any{"id": "mail", "summary": "all about mail", "tool_count": 25.0},
	}
	if diff := cmp.Diff(want, m["categories"]); diff != "" || m["total_categories"] != 2.0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for page, n := range map[int]int{0: 20, 1: 20, 2: 5, 3: 0, 99: 0} {
		r, err := s.call(t, "browse_category", fmt.Sprintf(`{"category":"mail","page":%d}`, page))
		m := data(t, r, err)
		if got := len(m["tools"].([]any)); got != n || m["total_pages"] != 2.0 || m["total_tools"] != 25.0 {
			t.Errorf("page %d has %d tools: %v", page, got, m)
		}
	}
	_, err = s.call(t, "browse_category", `{"category":"mial"}`)
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "mail") {
		t.Errorf("a misspelt category: %v", err)
	}
	_, err = s.call(t, "browse_category", `{"category":"quux"}`)
	if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "files, mail") {
		t.Errorf("an unknown category: %v", err)
	}
}

func TestSummaries(t *testing.T) {
	s := newStage(t)
	one := *s
	one.modules = []control.Module{{Name: "mail", Tools: s.modules[1].Tools[:1]}}
	none := *s
	none.modules = nil
	tests := []struct {
		name       string
		session    *stage
		tool, args string
		want       string
	}{
		{"found one", s, "search_tools", `{"query":"mail thing 3","max_results":1}`, "1 tool found"},
		{"found two", s, "search_tools", `{"query":"mail thing 3","max_results":2}`, "2 tools found"},
		{"categories", s, "list_categories", `{}`, "2 categories, 50 tools"},
		{"one category", &one, "list_categories", `{}`, "1 category, 1 tool"},
		{"no category", &none, "list_categories", `{}`, "0 categories, 0 tools"},
		{"categories past the end", s, "list_categories", `{"page":9}`, "2 categories on 1 page; there is no page 9"},
		{"one category past the end", &one, "search_tools", `{"page":2}`, "1 category on 1 page; there is no page 2"},
		{"first page", s, "browse_category", `{"category":"mail"}`, "mail: 25 tools, page 1 of 2"},
		{"last page", s, "browse_category", `{"category":"mail","page":2}`, "mail: 25 tools, page 2 of 2"},
		{"past the end", s, "browse_category", `{"category":"mail","page":9}`, "mail: 25 tools on 2 pages; there is no page 9"},
		{"one tool", &one, "browse_category", `{"category":"mail"}`, "mail: 1 tool, page 1 of 1"},
		{"one tool, past the end", &one, "browse_category", `{"category":"mail","page":2}`, "mail: 1 tool on 1 page; there is no page 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.session.call(t, tt.tool, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if r.Summary != tt.want {
				t.Errorf("got %q, want %q", r.Summary, tt.want)
			}
		})
	}
}

func TestExecuteTool(t *testing.T) {
	const named = "c1 mail:act_01@1.0.0 "
	tests := []struct{ name, args, want string }{
		{"as it should be", `{"name":"mail.act_01","params":{"path":"x"}}`, `{"path":"x"}`},
		{"arguments", `{"tool_name":"mail.act_01","arguments":{"path":"x"}}`, `{"path":"x"}`},
		{"args", `{"tool":"mail.act_01","args":{"path":"x"}}`, `{"path":"x"}`},
		{"as text", `{"name":"mail.act_01","params":"{\"path\": \"x\"}"}`, `{"path":"x"}`},
		{"flattened", `{"name":"mail.act_01","path":"x","n":1}`, `{"n":1,"path":"x"}`},
		{"flattened beside an empty object", `{"name":"mail.act_01","params":{},"path":"x"}`, `{"path":"x"}`},
		{"nothing", `{"name":"mail.act_01"}`, `{}`},
		{"null", `{"name":"mail.act_01","params":null}`, `{}`},
		{"empty text", `{"name":"mail.act_01","params":""}`, `{}`},
		{"a parameter called name", `{"name":"mail.act_01","params":{"name":"x"}}`, `{"name":"x"}`},
	}
	for _, test := range tests {
		s := newStage(t)
		r, err := s.call(t, "execute_tool", test.args)
		if err != nil || r.Summary != "ran" {
			t.Errorf("%s: %v, %v", test.name, r, err)
			continue
		}
		if diff := cmp.Diff([]string{named + test.want}, s.called); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for name, args := range map[string]string{
		"no name": `{"params":{}}`, "a number for a name": `{"name":3}`, "text that is not JSON": `{"name":"mail.act_01","params":"{path: x}"}`,
		"a list": `{"name":"mail.act_01","params":[1]}`,
	} {
		s := newStage(t)
		if _, err := s.call(t, "execute_tool", args); tool.KindOf(err) != tool.Invalid || len(s.called) > 0 {
			t.Errorf("%s: %v, called %v", name, err, s.called)
		}
	}
	s := newStage(t)
	if _, err := s.call(t, "execute_tool", `{"name":"mail.act_01","params":"{\"path\": \"x\", }"}`); !strings.Contains(
		err.Error(),
		"byte 15",
	) {
		t.Errorf("where the text breaks is not told: %v", err)
	}
}

func TestCollect(t *testing.T) {
	for args, want := range map[string]time.Duration{
		`{"approval":" a1 "}`:                 20 * time.Second,
		`{"approval":"a1","wait_seconds":0}`:  0,
		`{"approval":"a1","wait_seconds":60}`: time.Minute,
	} {
		s := newStage(t)
		if r, err := s.call(t, "collect", args); err != nil || r.Call != "c0" || s.waited != want {
			t.Errorf("%s: %+v, %v, after %v", args, r, err, s.waited)
		}
	}
	if _, err := newStage(t).call(t, "collect", `{"approval":"a2"}`); tool.KindOf(err) != tool.NotFound {
		t.Errorf("another's: %v", err)
	}
}

func FuzzExecute(f *testing.F) {
	f.Add(`{"name":"mail.act_01","params":{"path":"x"}}`)
	f.Add(`{"name":"mail.act_01","params":"{"}`)
	s := newStage(f)
	f.Fuzz(func(t *testing.T, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		s.called = nil
		r, err := s.call(t, "execute_tool", args)
		if (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
		for _, c := range s.called {
			if _, rest, _ := strings.Cut(c, "{"); !json.Valid([]byte("{" + rest)) {
				t.Fatalf("called with %s", c)
			}
		}
	})
}

// TestDiscoverySetIsSmall shows the real discovery tools over random five
// hundred of the real catalog's tools.
func TestDiscoverySetIsSmall(t *testing.T) {
	data, err := os.ReadFile("../../../shared/bench/mcp-catalog/tools.jsonl")
	if err != nil {
		t.Skip("needs ../shared/bench/mcp-catalog")
	}
	var items []surface.Item
	for line := range strings.Lines(string(data)) {
		var in struct {
			Name, Description, Server string
			Parameters                json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		items = append(items, surface.Item{Tool: &tool.Tool{
			ID:   tool.ID{Namespace: "mcp_" + in.Server, Name: in.Name},
			Spec: tool.Spec{Description: in.Description, Input: in.Parameters},
		}})
	}
	var own []surface.Item
	for _, x := range control.Tools(nil) {
		own = append(own, surface.Item{Tool: x, Wire: x.ID.Name})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var some []surface.Item
		for _, i := range r.Perm(len(items))[:500] {
			some = append(some, items[i])
		}
		plan := surface.New(some, own, surface.Config{Force: surface.Discovery})
		size := 2
		for _, e := range plan.Shown {
			size += len(e.Definition()) + 1
		}
		if size > 6*1024 || len(plan.Shown) != 5 {
			t.Errorf("%d tools of %d bytes", len(plan.Shown), size)
		}
	}
}
