package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// measure reports the CPU time of a call too.
func measure(b *testing.B, call func() error) {
	b.Helper()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := cpu()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkBareCall is the SDK's own client, over its own transport.
func BenchmarkBareCall(b *testing.B) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), kindVariable+"=normal")
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "0"}, nil)
	session, err := client.Connect(b.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	args := json.RawMessage(`{"text":"hello"}`)
	measure(b, func() error {
		_, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: args})
		return err
	})
}

// BenchmarkCall is a whole call of a tool.
func BenchmarkCall(b *testing.B) {
	_, byName := refreshed(b, local("normal"), mcp.Options{})
	echo, ctx := byName["echo"], context.Background()
	c := tool.Call{ID: "call-1", Args: json.RawMessage(`{"text":"hello"}`)}
	measure(b, func() error {
		_, err := echo.Handler.Execute(ctx, c, tool.Grant{})
		return err
	})
}

func BenchmarkCallsAtOnce(b *testing.B) {
	_, byName := refreshed(b, local("normal"), mcp.Options{})
	echo, ctx := byName["echo"], context.Background()
	c := tool.Call{ID: "call-1", Args: json.RawMessage(`{"text":"hello"}`)}
	b.ReportAllocs()
	b.SetParallelism(4)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := echo.Handler.Execute(ctx, c, tool.Grant{}); err != nil {
				b.Error(err)
			}
		}
	})
}

// cached fills a cache with the listings of many servers.
func cached(b *testing.B, servers, tools int) (folder string, configs []mcp.Config) {
	b.Helper()
	folder = b.TempDir()
	h := open(b, mcp.Options{})
	for i := range servers {
		cfg := mcp.Config{Name: fmt.Sprintf("server-%d", i), Command: "never-started"}
		s, err := h.Server(cfg)
		if err != nil {
			b.Fatal(err)
		}
		m := map[string]any{"version": 1, "key": s.Key(), "name": cfg.Name, "protocol": "2026-07-28", "fetched": time.Now()}
		var list []map[string]any
		for j := range tools {
			list = append(list, map[string]any{
				"name":        fmt.Sprintf("do_thing_%d", j),
				"description": "Does a thing to another thing, as often as it is told, and says how it went.",
				"input_schema": json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where ` +
					`the thing is"},"times":{"type":"integer","minimum":1},"how":{"enum":["fast","well"]}},"required":["path"]}`),
			})
		}
		m["tools"] = list
		data, err := json.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(folder+"/"+s.Key()+".json", data, 0o600); err != nil {
			b.Fatal(err)
		}
		configs = append(configs, cfg)
	}
	return folder, configs
}

// BenchmarkKnownServers is a kernel that starts with 50 servers of 20 tools
// each in its cache: until all tools are known, and asked again after that.
func BenchmarkKnownServers(b *testing.B) {
	folder, configs := cached(b, 50, 20)
	ask := func(h *mcp.Manager) {
		n := 0
		for _, cfg := range configs {
			s, err := h.Server(cfg)
			if err != nil {
				b.Fatal(err)
			}
			list, err := s.Tools(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			n += len(list)
		}
		if n != 50*20 {
			b.Fatalf("%d tools", n)
		}
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h := mcp.New(mcp.Options{Cache: folder})
			ask(h)
			h.Close()
		}
	})
	b.Run("again", func(b *testing.B) {
		h := open(b, mcp.Options{Cache: folder})
		ask(h)
		b.ReportAllocs()
		for b.Loop() {
			ask(h)
		}
	})
}
