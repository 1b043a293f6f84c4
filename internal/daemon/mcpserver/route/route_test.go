package route_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/daemon/mcpserver/route"
)

func TestUnique(t *testing.T) {
	got := route.Unique([]route.Item{
		{"a", "greet"}, {"b", "greet"}, {"a", "alone"}, {"b", "own"}, {"b", "own"}, {"c", "greet"},
	})
	if diff := cmp.Diff(map[string]string{"alone": "a", "own": "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMatchTemplates(t *testing.T) {
	templates := []route.Item{
		{"a", "note://{day}"}, {"b", "note://{day}/{hour}"}, {"c", "note://{+any}"}, {"c", "note://{other}"},
		{"d", "file:///{path}"},
	}
	for address, want := range map[string]string{
		"note://monday": "a c", "note://monday/9": "b c", "note://": "a c",
		"file:///x": "d", "file:///x/y": "", "mail://x": "",
	} {
		if got := strings.Join(route.MatchTemplates(templates, address), " "); got != want {
			t.Errorf("%s is of %q, want %q", address, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		template, address string
		want              bool
	}{
		{"test://template/{id}/data", "test://template/123/data", true},
		{"test://template/{id}/data", "test://template/1/2/data", false},
		{"test://template/{id}/data", "test://template/123/data/more", false},
		{"db://{table}{?limit,offset}", "db://users", true},
		{"db://{table}{?limit,offset}", "db://users?limit=3", true},
		{"db://{table}{?limit,offset}", "db://users/3", false},
		{"web://x{/path*}{#part}", "web://x/a/b#c", true},
		{"a.b://{x}", "a-b://1", false}, // a dot is a dot
		{"plain://x", "plain://x", true},
		{"open{", "open{", false},
		{"a{}", "a", false},
	} {
		if got := route.Match(c.template, c.address); got != c.want {
			t.Errorf("%s of %s: %v", c.address, c.template, got)
		}
	}
}

// No template of a server breaks Match, and one without an expression matches
// only itself.
func FuzzMatch(f *testing.F) {
	f.Add("test://{id}/data", "test://1/data")
	f.Add("a{+b}{?c*}", "a/b?c")
	f.Add("{", "}")
	f.Fuzz(func(t *testing.T, template, address string) {
		if got := route.Match(template, address); !strings.Contains(template, "{") && got != (template == address) {
			t.Errorf("%q of %q: %v", address, template, got)
		}
	})
}
