package toolview_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

// An app of 200 real tools: what each way to show them costs. The seed says 60 K
// tokens of schemas against 2 K; this is ours.
func TestTwoHundredTools(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "bench", "mcp-catalog", "tools.jsonl"))
	if err != nil {
		t.Skip("needs ../shared/bench/mcp-catalog")
	}
	defer f.Close()
	var tools []*tool.Tool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && len(tools) < 200 {
		var in struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		if json.Unmarshal(lines.Bytes(), &in) != nil || in.Description == "" || len(in.Parameters) == 0 {
			continue
		}
		made := &tool.Tool{
			ID:      tool.ID{Namespace: fmt.Sprintf("real%d", len(tools)/10), Name: fmt.Sprintf("t%d", len(tools)), Version: tool.Version{Major: 1}},
			Spec:    tool.Spec{Description: in.Description, Input: in.Parameters},
			Runtime: tool.Runtime{SideEffect: tool.Read, Risk: tool.Low},
			Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return tool.OK("ok", nil) }),
		}
		if made.Validate() == nil {
			tools = append(tools, made)
		}
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t), tools...)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "tools: {modules: {}}\n")
	s := kerneltest.OpenSession(t, k, folder)
	var report strings.Builder
	tokens := map[string]int{}
	for _, mode := range []string{"direct", "compact_direct", "discovery"} {
		plan, err := s.View().Surface(t.Context(), toolview.SurfaceConfig{Mode: mode})
		ok(t, err)
		tokens[mode] = plan.ShownTokens
		fmt.Fprintf(&report, "%-14s %6d tokens, %d tools shown\n", mode, plan.ShownTokens, len(plan.Shown))
	}
	t.Logf("200 tools:\n%s", report.String())
	if tokens["discovery"] > 2000 || tokens["direct"] < 10*tokens["discovery"] || tokens["compact_direct"] >= tokens["direct"] {
		t.Errorf("discovery is not worth it:\n%s", report.String())
	}
}
