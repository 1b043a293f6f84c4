package clients_test

import (
	"testing"

	"callgate/internal/kernel/clients"
	"callgate/internal/source/mcp"
)

// client is told apart by its name. What it is asked does not matter here.
type client struct {
	mcp.Client
	name     string
	attended bool
}

func (c *client) Attended() bool { return c.attended }

func TestClientOf(t *testing.T) {
	t.Parallel()
	ada, second, bob := &client{name: "ada"}, &client{name: "ada, attended", attended: true}, &client{name: "bob"}
	var table clients.Table
	table.Bind("a", "ada's window", ada)
	table.Bind("a2", "ada's window", second)
	table.Bind("b", "bob's window", bob)
	for name, c := range map[string]struct {
		calls []string
		want  mcp.Client
	}{
		"no call":                     {nil, nil},
		"one call":                    {[]string{"a"}, ada},
		"a child of a call":           {[]string{"a.1.2"}, ada},
		"calls of one owner":          {[]string{"a", "a"}, ada},
		"the one that is attended":    {[]string{"a2", "a"}, second},
		"calls of two owners":         {[]string{"a", "b"}, nil},
		"a call that nobody bound":    {[]string{"a", "unbound"}, nil},
		"a name that only looks like": {[]string{"a.1", "ab"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := table.ClientOf(c.calls); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestReleaseEndsABinding(t *testing.T) {
	t.Parallel()
	var table clients.Table
	if got := table.Get("a"); got != nil {
		t.Errorf("an empty table has %v", got)
	}
	one := &client{name: "one"}
	release := table.Bind("a", 1, one)
	if got := table.Get("a.3"); got != mcp.Client(one) {
		t.Errorf("got %v", got)
	}
	release()
	if got := table.Get("a"); got != nil {
		t.Errorf("after its release: %v", got)
	}
}
