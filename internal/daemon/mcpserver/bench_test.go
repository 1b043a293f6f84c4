package mcpserver_test

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
)

func measure(b *testing.B, c *sdk.ClientSession, name, args string) {
	b.Helper()
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)}
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		res, err := c.CallTool(b.Context(), params)
		if err != nil || res.IsError {
			b.Fatal(err, res)
		}
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkCall is a call of a tool in memory: both ends of the protocol, the
// gate and the journal.
func BenchmarkCall(b *testing.B) {
	for _, w := range ways {
		b.Run(w.name, func(b *testing.B) {
			s := newFixture(b, kernel.Config{})
			measure(b, s.connect(b, w, "bench", nil), "demo.add", `{"a":1,"b":2}`)
		})
	}
}

// BenchmarkBare is the same call of a server that has only the SDK: what the
// protocol itself costs.
func BenchmarkBare(b *testing.B) {
	server := sdk.NewServer(&sdk.Implementation{Name: "bare"}, nil)
	type pair struct{ A, B float64 }
	type sum struct{ Sum float64 }
	sdk.AddTool(server, &sdk.Tool{Name: "add"}, func(
		_ context.Context, _ *sdk.CallToolRequest, p pair,
	) (*sdk.CallToolResult, sum, error) {
		return nil, sum{p.A + p.B}, nil
	})
	ours, theirs := sdk.NewInMemoryTransports()
	if _, err := server.Connect(b.Context(), theirs, nil); err != nil {
		b.Fatal(err)
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(b.Context(), ours, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	measure(b, c, "add", `{"A":1,"B":2}`)
}

// BenchmarkProxied is a call of a tool of an MCP server behind the kernel.
func BenchmarkProxied(b *testing.B) {
	s := newFixture(b, kernel.Config{})
	s.addServer(b)
	measure(b, s.connect(b, ways[0], "bench", nil), "mcp_stage_one.echo", `{"text":"hello"}`)
}

// BenchmarkProxiedAtOnce is the same of 16 callers.
func BenchmarkProxiedAtOnce(b *testing.B) {
	s := newFixture(b, kernel.Config{})
	s.addServer(b)
	c := s.connect(b, ways[0], "bench", nil)
	b.SetParallelism(8)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			res, err := c.CallTool(b.Context(), &sdk.CallToolParams{
				Name: "mcp_stage_one.echo", Arguments: json.RawMessage(`{"text":"hello"}`),
			})
			if err != nil || res.IsError {
				b.Error(err, res)
			}
		}
	})
}

func BenchmarkListTools(b *testing.B) {
	s := newFixture(b, kernel.Config{})
	c := s.connect(b, ways[0], "bench", nil)
	b.ReportAllocs()
	for b.Loop() {
		toolList(b, c)
	}
}
