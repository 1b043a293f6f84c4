package filesystem_test

import (
	"testing"

	"callgate/tool"
)

// A machine that lost its right while a call ran leaves every file as it is: another may
// work on it by now.
func TestNothingChangesWithoutTheRight(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]args{
		"write":  {"path": "a.txt", "content": "new\n", "overwrite": true},
		"edit":   {"path": "a.txt", "edits": []args{{"old": "old", "new": "new"}}},
		"move":   {"from": "a.txt", "to": "b.txt"},
		"delete": {"path": "a.txt"},
		"apply_patch": patch("*** Update File: a.txt", "-old", "+new",
			"*** Delete File: c.txt"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			g.put("a.txt", "old\n")
			g.put("c.txt", "other\n")
			g.call("read", args{"path": "a.txt"})
			g.call("read", args{"path": "c.txt"})
			g.grant.MayChange = func() error {
				return tool.Errorf("node", tool.Unavailable, "the database is out of reach").WithHint("try again")
			}
			if e := g.refused(tool.Unavailable, name, a, "left as it is", "out of reach"); e.Hint != "try again" {
				t.Errorf("the hint is %q", e.Hint)
			}
			if g.get("a.txt") != "old\n" || g.get("c.txt") != "other\n" {
				t.Errorf("the files hold %q and %q", g.get("a.txt"), g.get("c.txt"))
			}
			g.noLitter()
			g.grant.MayChange = func() error { return nil }
			g.call(name, a)
		})
	}
}
