package surface_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/agent/surface"
)

// many returns n tools in modules of different sizes, with long descriptions.
func many(n int) []surface.Item {
	description := "Does a thing. " + strings.Repeat("And tells of it. ", 20)
	out := make([]surface.Item, n)
	for i := range out {
		name := fmt.Sprintf("mod%d.tool%03d", i%7*(i%3), i)
		out[i] = item(name, description, `{"type":"object","properties":{"path":{"type":"string"}}}`)
	}
	slices.SortFunc(out, func(a, b surface.Item) int { return a.Tool.ID.Compare(b.Tool.ID) })
	return out
}

func TestModesShowTheirTools(t *testing.T) {
	t.Parallel()
	items := []surface.Item{
		item("fs.read", "Reads a file. Whole.", `{"type":"object","properties":{"path":{"type":"string"}}}`),
		item("fs.write", "Writes a file. Whole.", `{"type":"object","properties":{"path":{"type":"string"}}}`),
		item("web.get", "Fetches a page. Whole.", `{"type":"object","properties":{"url":{"type":"string"}}}`),
	}
	items[2].Tool.Spec.Short = "Fetch"
	five := "search_tools get_tool execute_tool list_categories browse_category"
	for name, c := range map[string]struct {
		cfg   surface.Config
		want  string
		whole string // the items with their schema
		lost  string // the names that match nothing
	}{
		"direct": {
			surface.Config{Force: surface.Direct}, "fs__read fs__write web__get", "fs__read fs__write web__get", "",
		},
		"direct with primitives": {
			surface.Config{Force: surface.Direct, Primitives: []string{"ask_user", "run_parallel"}},
			"run_parallel ask_user fs__read fs__write web__get", "fs__read fs__write web__get", "",
		},
		"compact": {
			surface.Config{Force: surface.CompactDirect}, "get_tool execute_tool fs__read fs__write web__get", "", "",
		},
		"compact with a pin": {
			surface.Config{Force: surface.CompactDirect, Pinned: []string{"fs.write"}},
			"get_tool execute_tool fs__read fs__write web__get", "fs__write", "",
		},
		"compact with a module": {
			surface.Config{
				Force: surface.CompactDirect, DirectModules: []string{"web"},
				Primitives: []string{"context_builder.ask_user"},
			},
			"get_tool execute_tool ask_user fs__read fs__write web__get", "web__get", "",
		},
		"discovery": {surface.Config{Force: surface.Discovery}, five, "", ""},
		"discovery with a short name": {
			surface.Config{Force: surface.Discovery, Pinned: []string{"Fetch"}}, five + " web__get", "web__get", "",
		},
		"discovery with a module": {
			surface.Config{Force: surface.Discovery, DirectModules: []string{"fs"}, Pinned: []string{"fs.read"}},
			five + " fs__read fs__write", "fs__read fs__write", "",
		},
		"discovery with primitives": {
			surface.Config{Force: surface.Discovery, Primitives: []string{"run_parallel", "not_built"}}, five + " run_parallel",
			"", "",
		},
		"no primitives": {
			surface.Config{Force: surface.Discovery, Primitives: []string{"run_parallel"}, NoPrimitives: true}, five, "", "",
		},
		"a control tool pinned": {
			surface.Config{Force: surface.Direct, Pinned: []string{"search_tools"}}, "search_tools fs__read fs__write web__get",
			"fs__read fs__write web__get", "",
		},
		"names that are not there": {
			surface.Config{Force: surface.Discovery, Pinned: []string{"zip.pack", "fs.read"}, DirectModules: []string{"mail"}},
			five + " fs__read", "fs__read", "mail zip.pack",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := surface.New(items, control(), c.cfg)
			if shown(p) != c.want {
				t.Errorf("shown are %s\nwant      %s", shown(p), c.want)
			}
			var whole []string
			for _, e := range p.Shown {
				if strings.Contains(e.Name, "__") && string(e.Schema) != anyObject {
					whole = append(whole, e.Name)
				}
			}
			if got := strings.Join(whole, " "); got != c.whole {
				t.Errorf("whole are %q, want %q", got, c.whole)
			}
			if got := strings.Join(p.Unmatched, " "); got != c.lost {
				t.Errorf("unmatched are %q, want %q", got, c.lost)
			}
		})
	}
}

func TestTokensAddUp(t *testing.T) {
	t.Parallel()
	items, count := many(40), func(e surface.Entry) int { return len(e.Definition()) }
	p := surface.New(items, control(), surface.Config{
		Force: surface.Direct, Primitives: []string{"ask_user"}, Tokens: func(text []byte) int { return len(text) },
	})
	sum := 0
	for i, e := range p.Shown {
		if p.PerTool[i].Tokens != count(e) {
			t.Errorf("%s counts %d, is %d", e.Name, p.PerTool[i].Tokens, count(e))
		}
		sum += count(e)
	}
	if p.ToolTokens != sum || p.ShownTokens != sum || p.CompactTokens != 41*30 {
		t.Errorf("%d and %d tokens of %d, %d compact", p.ToolTokens, p.ShownTokens, sum, p.CompactTokens)
	}
	if len(p.PerTool) != 41 || p.PerTool[0].Name != "context_builder.ask_user" {
		t.Errorf("%d tools, the first %s", len(p.PerTool), p.PerTool[0].Name)
	}
	// Without a tokenizer: {"type": "function", "function": {"name": "a__b",
	// "description": "Dörrt.", "parameters": {"type": "object"}}} has 114
	// characters with ö as \u00f6.
	p = surface.New([]surface.Item{item("a.b", "Dörrt.", anyObject)}, nil, surface.Config{})
	if p.ToolTokens != 114/4 {
		t.Errorf("counted %d tokens", p.ToolTokens)
	}
}

func TestEqualInputGivesEqualBytes(t *testing.T) {
	t.Parallel()
	plan := func(pinned, modules []string) []byte {
		items := many(300) // new pointers every time
		for i := range items {
			schema := map[string]any{"type": "object", "properties": map[string]any{}}
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				schema["properties"].(map[string]any)[name] = map[string]any{"type": "string", "title": name}
			}
			items[i].Tool.Spec.Input, _ = json.Marshal(schema)
		}
		cfg := surface.Config{Window: 20_000, Pinned: pinned, DirectModules: modules}
		data, err := json.Marshal(surface.New(items, control(), cfg))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := plan([]string{"mod0.tool000", "x.lost", "w.lost"}, []string{"mod2", "mod10"})
	for range 20 {
		again := plan([]string{"w.lost", "x.lost", "mod0.tool000"}, []string{"mod10", "mod2"})
		if string(again) != string(first) {
			t.Fatal(cmp.Diff(string(first), string(again)))
		}
	}
	for _, want := range []string{`"mode":"discovery"`, `"unmatched":["w.lost","x.lost"]`} {
		if !strings.Contains(string(first), want) {
			t.Errorf("planned %.300s, without %s", first, want)
		}
	}
}

func TestDescriptionsListTheCatalog(t *testing.T) {
	t.Parallel()
	items := []surface.Item{
		item("b.x", "X.", anyObject), item("b.y", "Y.", anyObject),
		item("c.x", "X.", anyObject), item("a.x", "X.", anyObject),
	}
	p := surface.New(items, control(), surface.Config{Force: surface.Discovery})
	const listing = "4 tools in 3 categories: b (2), a (1), c (1)."
	for _, name := range []string{"search_tools", "list_categories"} {
		text := entry(t, p, name).Description
		if !strings.Contains(text, listing) || strings.Contains(text, "{{") {
			t.Errorf("%s says %q", name, text)
		}
	}
	p = surface.New(nil, control(), surface.Config{Force: surface.Discovery})
	if text := entry(t, p, "search_tools").Description; !strings.Contains(text, "There are no tools to find.") {
		t.Errorf("without tools it says %q", text)
	}
}

// crowd returns 999 tools in 500 categories.
func crowd(description string) []surface.Item {
	var out []surface.Item
	for i := range 500 {
		for j := range 1 + i%3 {
			out = append(out, item(fmt.Sprintf("category-of-things-%03d.tool%d", i, j), description, anyObject))
		}
	}
	return out
}

func TestLargeCatalogIsListedWithinTheSizeOfTheSet(t *testing.T) {
	t.Parallel()
	p := surface.New(crowd("Does."), control(), surface.Config{Force: surface.Discovery})
	if size := len(array(t, p)); size > 6_000 || size < 5_500 {
		t.Errorf("the set has %d bytes", size)
	}
	text := entry(t, p, "search_tools").Description
	_, rest, ok := strings.Cut(text, ", … and ")
	more, _ := strconv.Atoi(strings.Fields(rest)[0])
	if named := strings.Count(text, "category-of-things-"); !ok || more+named != 500 || named < 20 {
		t.Errorf("%d categories are named and %d are more: %s", named, more, text)
	}
	const listing = "999 tools in 500 categories: category-of-things-002 (3), category-of-things-005 (3)"
	if !strings.Contains(text, listing) {
		t.Errorf("search_tools says %q", text)
	}
	if brief := entry(t, p, "list_categories").Description; len(brief) > 250 || !strings.Contains(brief, "… and ") {
		t.Errorf("list_categories says %q", brief)
	}

	// The listing does not vanish, however many tools are shown whole beside it.
	p = surface.New(crowd(strings.Repeat("long ", 40)), control(), surface.Config{
		Force: surface.Discovery,
		DirectModules: []string{
			"category-of-things-002", "category-of-things-005", "category-of-things-008", "category-of-things-011",
		},
	})
	if text := entry(t, p, "search_tools").Description; strings.Count(text, "category-of-things-") < 5 {
		t.Errorf("beside long entries it says %q", text)
	}
}

func TestMCPClientGetsTheCheapestMode(t *testing.T) {
	t.Parallel()
	items := []surface.Item{item("a.b", "Does. "+strings.Repeat("word ", 300), anyObject)}
	small := surface.Config{Window: 1_000}
	if p := surface.New(items, control(), small); p.Mode != surface.CompactDirect || p.ShownTokens > p.ToolTokens {
		t.Fatalf("the case tests nothing: %s, %d of %d", p.Mode, p.ShownTokens, p.ToolTokens)
	}
	items = append(items, item("a.c", "Does.", anyObject))
	var tiny []surface.Item // more than the budget, but less than the discovery tools
	for i := range 9 {
		tiny = append(tiny, item(fmt.Sprintf("a.t%d", i), "Does.", anyObject))
	}
	for name, c := range map[string]struct {
		items []surface.Item
		want  surface.Mode
	}{
		"compact costs less": {items, surface.CompactDirect},
		"compact costs more": {
			[]surface.Item{item("a.b", "Does "+strings.Repeat("a", 700), anyObject)}, surface.Direct,
		},
		"discovery costs more":  {tiny, surface.Direct},
		"discovery costs least": {many(100), surface.Discovery},
	} {
		cfg := small
		cfg.ForMCP = true
		p := surface.New(c.items, control(), cfg)
		if p.Mode != c.want || p.ShownTokens > p.ToolTokens || p.Forced {
			t.Errorf("%s: %s, %d tokens of %d: %s", name, p.Mode, p.ShownTokens, p.ToolTokens, p.Reason)
		}
		rejected := p.Mode == surface.Direct
		if rejected != strings.Contains(p.Reason, "so direct") || len(p.WouldChange) == 0 ||
			rejected && strings.HasPrefix(p.WouldChange[0], "direct") {
			t.Errorf("%s: %q, %q", name, p.Reason, p.WouldChange)
		}
	}
}

func TestWouldChangeIsTrue(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9, 60, 200} {
		for _, window := range []int{500, 8_000, 40_000, 400_000} {
			items := many(n)
			p := surface.New(items, nil, surface.Config{Window: window})
			if !strings.Contains(p.Reason, strconv.Itoa(p.ToolTokens)) || len(p.WouldChange) == 0 {
				t.Errorf("%d tools in %d: %q, %q", n, window, p.Reason, p.WouldChange)
			}
			for _, change := range p.WouldChange {
				mode, rest, _ := strings.Cut(change, " with ")
				var number int
				got := surface.Mode("none")
				switch {
				case scan(rest, "a window of ≥ %d", &number), scan(rest, "a window of < %d", &number):
					if strings.Contains(rest, "<") {
						number--
					}
					got = surface.New(items, nil, surface.Config{Window: number}).Mode
				case scan(rest, "≤ %d tokens", &number):
					got = surface.Decide(window, number, n)
				case scan(rest, "> %d tokens", &number):
					got = surface.Decide(window, number+1, n)
				case scan(rest, "%d tool", &number) && strings.Contains(rest, "more"):
					got = surface.Decide(window, p.ToolTokens, n+number)
				case scan(rest, "%d tool", &number) && strings.Contains(rest, "largest"):
					slices.SortFunc(p.PerTool, func(a, b surface.Cost) int { return b.Tokens - a.Tokens })
					left := p.ToolTokens
					for _, c := range p.PerTool[:number] {
						left -= c.Tokens
					}
					got = surface.Decide(window, max(left, 1), n-number)
				case scan(rest, "%d tool", &number):
					got = surface.Decide(window, p.Budget+1, n-number)
				}
				if string(got) != mode {
					t.Errorf("%s of %d in %d: %q is not so: %s", p.Mode, n, window, change, got)
				}
			}
		}
	}
}

func scan(text, format string, into *int) bool {
	n, _ := fmt.Sscanf(text, format, into)
	return n == 1
}
