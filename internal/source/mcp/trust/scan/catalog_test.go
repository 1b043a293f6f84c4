package scan_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/source/mcp/trust/scan"
)

// real is one tool of the public catalogue.
type real struct {
	server     string
	definition definition.Definition
}

// catalog reads the public catalogue of real tools, or skips.
func catalog(tb testing.TB) []real {
	tb.Helper()
	f, err := os.Open(catalogPath(tb))
	if err != nil {
		tb.Skip("needs ../shared/bench/mcp-catalog")
	}
	defer f.Close()
	var all []real
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var row struct {
			Server, Name, Description string
			Parameters, Annotations   json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			tb.Fatal(err)
		}
		all = append(all, real{server: row.Server, definition: definition.Definition{
			Name: row.Name, Description: row.Description, Input: row.Parameters, Annotations: row.Annotations}})
	}
	if err := lines.Err(); err != nil || len(all) < 10000 {
		tb.Fatalf("%d tools, %v", len(all), err)
	}
	slices.SortStableFunc(all, func(a, b real) int { return strings.Compare(a.server, b.server) })
	return all
}

// namesOf returns the names of all tools, each once.
func namesOf(all []real) []string {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.definition.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// othersOf returns names without those that a server has itself.
func othersOf(server string, all []real, names []string) []string {
	own := map[string]bool{}
	for _, r := range all {
		if r.server == server {
			own[r.definition.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return own[name] })
}

// catalogPath walks up to the folder that has the public datasets beside it.
func catalogPath(tb testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "shared", "bench", "mcp-catalog", "tools.jsonl")
		if _, err := os.Stat(path); err == nil || dir == filepath.Dir(dir) {
			return path
		}
		dir = filepath.Dir(dir)
	}
}

// The rules must leave real tools alone: with the names of every other tool of
// the catalogue at hand, which no user has, at most three in a thousand may be
// held at first sight.
func TestCatalogIsMostlyClean(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	type key struct {
		rule     string
		severity scan.Severity
	}
	found, scanned, held, noticed := map[key]int{}, 0, 0, 0
	names := namesOf(all)
	var others []string
	var last string // the server whose others those are
	for i := 0; i < len(all); i += stride {
		r := all[i]
		if others == nil || last != r.server {
			others, last = othersOf(r.server, all, names), r.server
		}
		scanned++
		rules := map[key]bool{}
		serious, notice := false, false
		for _, f := range scan.Scan(r.definition, others) {
			rules[key{f.Rule, f.Severity}] = true
			serious, notice = serious || f.Severity == scan.Serious, notice || f.Severity == scan.Notice
			if testing.Verbose() {
				t.Logf("%s %s | %s | %s | %s | %s", f.Severity, f.Rule, r.server, r.definition.Name, f.Where, f.Excerpt)
			}
		}
		for k := range rules {
			found[k]++
		}
		if serious {
			held++
		}
		if notice {
			noticed++
		}
	}
	for k, n := range found {
		t.Logf("%6d %s %s", n, k.severity, k.rule)
	}
	t.Logf(
		"of %d tools %d have something serious (%.2f %%), %d a notice (%.1f %%)",
		scanned,
		held,
		100*float64(held)/float64(scanned),
		noticed,
		100*float64(noticed)/float64(scanned),
	)
	if held*1000 > scanned*3 {
		t.Errorf("%d of %d real tools would be held", held, scanned)
	}
}

// A thousand tools on other servers are more than anybody connects.
func BenchmarkScanCatalog(b *testing.B) {
	all := catalog(b)
	others := make([]string, 0, 1000)
	for _, r := range all[:cap(others)] {
		others = append(others, r.definition.Name)
	}
	bytes := 0
	for _, r := range all {
		bytes += len(r.definition.Description) + len(r.definition.Input)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range all {
			scan.Scan(r.definition, others)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(all)), "µs/definition")
}
