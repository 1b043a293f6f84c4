package translate_test

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// catalog reads the definitions of real servers, by server.
func catalog(t testing.TB) map[string][]translate.Definition {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open(filepath.Join(folder, "..", "shared", "bench", "mcp-catalog", "tools.jsonl"))
		if err == nil {
			defer f.Close()
			return readCatalog(t, f)
		}
		if folder == filepath.Dir(folder) {
			t.Skip("needs ../shared/bench/mcp-catalog")
		}
		folder = filepath.Dir(folder)
	}
}

func readCatalog(t testing.TB, f *os.File) map[string][]translate.Definition {
	t.Helper()
	servers := map[string][]translate.Definition{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var d struct {
			Name, Description, Server string
			Parameters, Annotations   json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		servers[d.Server] = append(
			servers[d.Server],
			translate.Definition{Name: d.Name, Description: d.Description, Input: d.Parameters, Annotations: d.Annotations},
		)
	}
	return servers
}

// Every real definition becomes a tool that can be published, and nearly every
// schema that is wrong can be mended.
func TestRealDefinitions(t *testing.T) {
	t.Parallel()
	const judged = 5 // every so many: judging takes a while under the race detector
	all, mended, replaced := 0, 0, 0
	servers := catalog(t)
	for i, server := range slices.Sorted(maps.Keys(servers)) {
		if i%judged != 0 {
			continue
		}
		defs := servers[server]
		names := translate.Names(defs)
		for i, d := range defs {
			all++
			input, note := d.InputSchema(compile)
			switch {
			case note == "":
			case string(input) == `{"type":"object"}`:
				replaced++
			default:
				mended++
			}
			runtime, _ := d.Runtime(translate.ToolConfig{})
			x := tool.Tool{
				ID:      tool.ID{Namespace: translate.Namespace(server), Name: names[i], Version: tool.Version{Major: 1}},
				Spec:    tool.Spec{Description: d.DescriptionFor(server), Input: input, Aliases: d.Aliases(server)},
				Runtime: runtime,
				Handler: tool.HandlerFunc(nil),
			}
			if err := x.Validate(); err != nil {
				t.Errorf("%s %s: %v", server, d.Name, err)
			}
		}
	}
	t.Logf("%d definitions, %d schemas mended, %d replaced", all, mended, replaced)
	if all < 2_000 || mended < 3 || replaced > 3 {
		t.Errorf("of %d schemas %d were mended and %d replaced", all, mended, replaced)
	}
}

func BenchmarkRealDefinitions(b *testing.B) {
	servers := catalog(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, defs := range servers {
			translate.Names(defs)
			for _, d := range defs {
				d.Runtime(translate.ToolConfig{})
			}
		}
	}
}
