package items

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel/servers"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

func known(names ...string) []servers.Server {
	list := make([]servers.Server, len(names))
	for i, name := range names {
		list[i].Status = mcp.Status{Name: name}
	}
	return list
}

func TestFullNames(t *testing.T) {
	for _, test := range []struct {
		kind                    Kind
		server, name, wantsFull string
	}{
		{Prompts, "notes", "greet", "notes__greet"},
		{Prompts, "notes", "two__greet", "notes__two__greet"},
		{Resources, "notes", "note://x?y=1", "callgate://mcp/notes/note://x?y=1"},
		{Resources, "a/b c", "x://1", "callgate://mcp/a%2Fb%20c/x://1"},
	} {
		full := test.kind.FullName(test.server, test.name)
		if full != test.wantsFull {
			t.Errorf("the full name is %s, want %s", full, test.wantsFull)
		}
		server, own, ok := test.kind.parseFullName(known("other", test.server), full)
		if !ok || server != test.server || own != test.name {
			t.Errorf("%s is %s of %s, %v", full, own, server, ok)
		}
		if _, _, ok := test.kind.parseFullName(known("other"), full); ok {
			t.Errorf("%s is of a server that is not known", full)
		}
	}
}

func TestNotFound(t *testing.T) {
	if err := Prompts.NotFound("x"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a prompt: %v", err)
	}
	if err := Resources.NotFound("x"); err == nil {
		t.Error("a resource that does not exist is no error")
	}
}

func TestNamed(t *testing.T) {
	found := []item{
		{"one", json.RawMessage(`{"name":"mine"}`)},
		{"one", json.RawMessage(`{"name":"shared"}`)},
		{"one", json.RawMessage(`{"name":"two__mine"}`)}, // reads like a full name
		{"one", json.RawMessage(`{"name":""}`)},
		{"one", json.RawMessage(`[]`)},
		{"two", json.RawMessage(`{"name":"shared"}`)},
	}
	name := func(p *sdk.Prompt) *string { return &p.Name }
	for _, test := range []struct {
		bareNames bool
		want      []string
		owners    map[string]string
	}{
		{false, []string{"one__mine", "one__shared", "one__two__mine", "two__shared"}, nil},
		{true, []string{"mine", "one__shared", "one__two__mine", "two__shared"}, map[string]string{"mine": "one"}},
	} {
		list, own, owners := named(&Catalog{BareNames: test.bareNames}, Prompts, found, name)
		var got []string
		for _, p := range list {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("bare names %v: %s", test.bareNames, diff)
		}
		if diff := cmp.Diff(test.owners, owners); diff != "" {
			t.Errorf("bare names %v: %s", test.bareNames, diff)
		}
		if len(own) != len(list) {
			t.Errorf("%d own names of %d items", len(own), len(list))
		}
	}
}
