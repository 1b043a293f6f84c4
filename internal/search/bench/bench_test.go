package bench_test

import (
	"testing"

	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/eval"
)

func set() *eval.Set {
	return &eval.Set{Tools: []eval.Tool{
		{ID: "t1", Name: "send", Description: "Send a mail to somebody.", Server: "acme/post"},
		{ID: "t2", Name: "read", Description: "Read a file from the disk."},
	}}
}

func TestTools(t *testing.T) {
	t.Parallel()
	tools := bench.Tools(set())
	if len(tools) != 2 || tools[0].ID.Dotted() != "mcp_post.send" || tools[1].ID.Namespace != "" || tools[1].ID.Name != "read" {
		t.Errorf("got %v and %v", tools[0].ID, tools[1].ID)
	}
}

func TestEngines(t *testing.T) {
	t.Parallel()
	model, err := embed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	engines, err := bench.Engines(t.Context(), set(), search.Static{Model: model})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ engine, query, want string }{
		{"keywords", "read a file", "t2"},
		{"meaning", "write an email", "t1"}, // no tool has the word
		{"both", "read a file", "t2"},
	}
	for i, tt := range tests {
		if engines[i].Name != tt.engine {
			t.Fatalf("engine %d is %s", i, engines[i].Name)
		}
		found := engines[i].Search(tt.query, 1)
		if len(found) != 1 || found[0] != tt.want {
			t.Errorf("%s: %q finds %v, want %s", tt.engine, tt.query, found, tt.want)
		}
	}
}
