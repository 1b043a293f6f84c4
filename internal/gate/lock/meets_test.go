package lock_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

func TestMeets(t *testing.T) {
	t.Parallel()
	claims := func(list ...string) (all []tool.Claim) { // as "S file:/a"
		for _, text := range list {
			mode, resource, _ := strings.Cut(text, " ")
			c := tool.Claim{Resource: resource}
			if err := c.Mode.UnmarshalText([]byte(mode)); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return all
	}
	for name, c := range map[string]struct {
		a, b []tool.Claim
		want bool
	}{
		"nothing claimed":                {nil, nil, false},
		"one claims nothing":             {nil, claims("X file:/a"), false},
		"two readers":                    {claims("S file:/a"), claims("S file:/a"), false},
		"readers in other modes":         {claims("IS file:/a"), claims("S file:/a"), false},
		"a reader and a writer":          {claims("S file:/a"), claims("X file:/a"), true},
		"a reader and an updater":        {claims("S file:/a"), claims("U file:/a"), true},
		"two intentions, one changes":    {claims("IS server:u/n"), claims("IX server:u/n"), true},
		"two intentions, both change":    {claims("IX server:u/n"), claims("IX server:u/n"), true},
		"two intentions, none changes":   {claims("IS server:u/n"), claims("IS server:u/n"), false},
		"another node":                   {claims("X file:/a"), claims("X file:/b"), false},
		"another kind":                   {claims("X file:/a"), claims("X repo:/a"), false},
		"a folder above":                 {claims("S file:/a"), claims("U file:/a/b/c"), true},
		"a file below":                   {claims("X file:/a/b/c"), claims("S file:/a"), true},
		"the root of a kind":             {claims("S file:"), claims("X file:/a/b"), true},
		"the root of another kind":       {claims("X db:"), claims("X file:/a/b"), false},
		"a name that begins as another":  {claims("X file:/a"), claims("X file:/ab"), false},
		"siblings":                       {claims("X file:/a/b"), claims("X file:/a/c"), false},
		"other spellings of one node":    {claims("X file:/a//b/"), claims("S file:a/b"), true},
		"other spellings of one root":    {claims("X file://"), claims("S file:"), true},
		"one pair of many":               {claims("S file:/a", "X db:m"), claims("S file:/a", "X file:/b", "IS db:m/t"), true},
		"many, and no pair":              {claims("S file:/a", "X db:m"), claims("S file:/a", "X file:/b", "IS db:n"), false},
		"a reader above, another's file": {claims("S file:/a/x"), claims("S file:/a", "X file:/b"), false},
	} {
		if got := lock.Meets(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := lock.Meets(c.b, c.a); got != c.want {
			t.Errorf("%s, the other way round: %v", name, got)
		}
	}
}

// What the lock table would keep apart meets; a node is what the table takes for one.
func FuzzMeets(f *testing.F) {
	f.Add("file:/a", "file:/a/b", uint8(3), uint8(5))
	f.Add("file://a", "file:a//", uint8(4), uint8(3))
	f.Add("server:u/n", "server:u/n", uint8(2), uint8(2))
	f.Add("db:", "file:", uint8(5), uint8(5))
	f.Add(":", "x", uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, a, b string, m, n uint8) {
		one := tool.Claim{Resource: a, Mode: tool.IS + tool.Mode(m)%tool.X}
		other := tool.Claim{Resource: b, Mode: tool.IS + tool.Mode(n)%tool.X}
		got := lock.Meets([]tool.Claim{one}, []tool.Claim{other})
		if back := lock.Meets([]tool.Claim{other}, []tool.Claim{one}); back != got {
			t.Fatalf("%v and %v: %v, the other way round %v", one, other, got, back)
		}
		if got && !one.Mode.Writes() && !other.Mode.Writes() {
			t.Fatalf("%v and %v meet, and both only read", one, other)
		}
		if one.Mode.Writes() || other.Mode.Writes() {
			if want := related(a, b); got != want {
				t.Fatalf("%v and %v: %v, want %v", one, other, got, want)
			}
		}
		table := lock.New()
		first, err := table.Enqueue(lock.Request{Claims: []tool.Claim{one}})
		if err != nil {
			return
		}
		defer first.Cancel()
		second, err := table.Enqueue(lock.Request{Claims: []tool.Claim{other}})
		if err != nil {
			return
		}
		defer second.Cancel()
		if _, waits := second.BlockedBy(); waits && !got {
			t.Fatalf("%v waits for %v, and they do not meet", other, one)
		}
	})
}

// related is the same question, asked with whole paths.
func related(a, b string) bool {
	path := func(resource string) []string {
		kind, rest, _ := strings.Cut(resource, ":")
		parts := slices.DeleteFunc(strings.Split(rest, "/"), func(p string) bool { return p == "" })
		return append([]string{kind}, parts...)
	}
	x, y := path(a), path(b)
	n := min(len(x), len(y))
	return slices.Equal(x[:n], y[:n])
}
