package filesystem_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

// TestCutResultsSaySo: a result that is a part says which, and how to go on.
func TestCutResultsSaySo(t *testing.T) {
	t.Parallel()
	const narrow = "narrow pattern, path or glob"
	for _, c := range searchers(t) {
		t.Run(c.name, func(t *testing.T) {
			g := newFixtureWith(t, c.config)
			g.put("long", numbered(1, 2500))
			for i := range 30 {
				g.put(fmt.Sprintf("d/f%02d", i), "match\nmatch\n")
			}
			for _, test := range []struct {
				tool string
				args args
				want *tool.Cut
			}{
				{"read", args{"path": "long"}, &tool.Cut{Unit: "lines", First: 1, Last: 2000, Total: 2500, Next: "offset=2001"}},
				{"read", args{"path": "long", "offset": 2001}, nil},
				{"grep", args{"pattern": "match", "limit": 7},
					&tool.Cut{Unit: "matches", First: 1, Last: 7, Next: "offset=7", Advice: narrow}},
				{"grep", args{"pattern": "match", "limit": 7, "offset": 7},
					&tool.Cut{Unit: "matches", First: 8, Last: 14, Next: "offset=14", Advice: narrow}},
				{"grep", args{"pattern": "match", "limit": 60}, nil},
				{"grep", args{"pattern": "match", "limit": 7, "mode": "files"},
					&tool.Cut{Unit: "files", First: 1, Last: 7, Next: "offset=7", Advice: narrow}},
				{"glob", args{"pattern": "d/*", "limit": 10},
					&tool.Cut{Unit: "matches", First: 1, Last: 10, Next: "offset=10", Advice: "narrow pattern or path"}},
				{"glob", args{"pattern": "d/*", "limit": 10, "offset": 20}, nil},
				{"glob", args{"pattern": "d/*", "limit": 10, "sort": "modified"},
					&tool.Cut{Unit: "matches", First: 1, Last: 10, Total: 30, Next: "offset=10", Advice: "narrow pattern or path"}},
				{"list", args{"path": "d", "limit": 10},
					&tool.Cut{Unit: "entries", First: 1, Last: 10, Next: "offset=10", Advice: "list a directory below it"}},
				{"list", args{"path": "d", "limit": 10, "offset": 20}, nil},
			} {
				if diff := cmp.Diff(test.want, g.call(test.tool, test.args).Cut); diff != "" {
					t.Errorf("%s %v: %s", test.tool, test.args, diff)
				}
			}
		})
	}
}

// TestPiecesAreTheWhole: the pieces of a result, one after the other, are what an
// uncut one gives.
func TestPiecesAreTheWhole(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	var want []string
	for i := range 400 {
		name := fmt.Sprintf("d/%s%03d", strings.Repeat("long", 40), i)
		g.put(name, strings.Repeat("a line that matches\n", 1+i%3))
		want = append(want, name)
	}
	for _, test := range []struct {
		tool string
		args args
	}{
		{"glob", args{"pattern": "d/*"}}, {"list", args{"path": "d"}}, {"grep", args{"pattern": "line", "limit": 10000}},
		{"grep", args{"pattern": "line", "mode": "files", "limit": 10000}},
	} {
		var all strings.Builder
		pieces := 0
		for next := 0; ; pieces++ {
			test.args["offset"] = next
			r := g.call(test.tool, test.args)
			if len(text(r)) > 42<<10 {
				t.Errorf("%s gives %d bytes", test.tool, len(text(r)))
			}
			all.WriteString(text(r))
			if r.Cut == nil {
				break
			}
			if r.Cut.Last <= next {
				t.Fatalf("%s does not come on: %+v", test.tool, r.Cut)
			}
			next = r.Cut.Last
		}
		for _, name := range want {
			if test.tool == "list" {
				name = strings.TrimPrefix(name, "d/")
			}
			if !strings.Contains(all.String(), name) {
				t.Fatalf("%s does not give %s in any of %d pieces", test.tool, name, pieces+1)
			}
		}
		if got := strings.Count(all.String(), "a line that matches"); test.args["pattern"] == "line" && test.args["mode"] == nil && got != 799 {
			t.Errorf("%s gives %d lines", test.tool, got)
		}
		if pieces == 0 {
			t.Errorf("%s was never cut", test.tool)
		}
	}
}

// TestReadNumbersLines: numbers stand before the lines unless they are switched off.
func TestReadNumbersLines(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	g.put("f", "a\nb\n")
	if got := text(g.call("read", args{"path": "f"})); got != "     1\ta\n     2\tb\n" {
		t.Errorf("%q", got)
	}
	if got := text(g.call("read", args{"path": "f", "line_numbers": false})); got != "a\nb\n" {
		t.Errorf("without numbers: %q", got)
	}
}
