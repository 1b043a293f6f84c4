package clients_test

import (
	"testing"

	"callgate/internal/kernel/clients"
	"callgate/internal/source/mcp"
)

// client is a client that is only told from others.
type client struct {
	mcp.Client
	name     string
	attended bool
}

func (c *client) Attended() bool { return c.attended }

func TestGet(t *testing.T) {
	t.Parallel()
	var table clients.Table
	if got := table.Get("c1"); got != nil {
		t.Errorf("an empty table has %v", got)
	}
	one := &client{name: "one"}
	release := table.Bind("c1", "owner", one)
	for call, want := range map[string]mcp.Client{
		"c1": one, "c1.1": one, "c1.1.1": one, "c11": nil, "c": nil, "c2.1": nil, "": nil, "x.c1": nil,
	} {
		if got := table.Get(call); got != want {
			t.Errorf("the client of %q is %v", call, got)
		}
	}
	release()
	if got := table.Get("c1.1"); got != nil {
		t.Errorf("after its end: %v", got)
	}
}

// A child with a client of its own does not have its parent's.
func TestNearestBinding(t *testing.T) {
	t.Parallel()
	var table clients.Table
	parent, child := &client{name: "parent"}, &client{name: "child"}
	table.Bind("c1", "a", parent)
	release := table.Bind("c1.1", "b", child)
	if got := table.Get("c1.1.1"); got != mcp.Client(child) {
		t.Errorf("got %v", got)
	}
	release()
	if got := table.Get("c1.1.1"); got != mcp.Client(parent) {
		t.Errorf("after its end: %v", got)
	}
}

// What a server asks reaches a client only where all its calls are one owner's.
func TestClientOf(t *testing.T) {
	t.Parallel()
	var table clients.Table
	a1 := &client{name: "a1"}
	a2 := &client{name: "a2", attended: true}
	a3 := &client{name: "a3"}
	b := &client{name: "b", attended: true}
	table.Bind("a1", "a", a1)
	table.Bind("a2", "a", a2)
	table.Bind("a3", "a", a3)
	table.Bind("b", "b", b)
	tests := []struct {
		name  string
		calls []string
		want  mcp.Client
	}{
		{"no calls", nil, nil},
		{"one call", []string{"a1"}, a1},
		{"the last where nobody attends", []string{"a1", "a3"}, a3},
		{"the one that is attended", []string{"a1", "a2", "a3"}, a2},
		{"a child", []string{"a1.1", "a3.1"}, a3},
		{"two owners", []string{"a1", "b"}, nil},
		{"two owners, and one attends", []string{"a2", "b"}, nil},
		{"two owners, the first again", []string{"a1", "b", "a1"}, nil},
		{"a call of nobody", []string{"a1", "unknown"}, nil},
		{"first a call of nobody", []string{"unknown", "a1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := table.ClientOf(tt.calls); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
