package surface_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"callgate/internal/agent/surface"
)

// subset returns n random tools of the catalog, in its order.
func subset(r *rand.Rand, all []surface.Item, n int) []surface.Item {
	chosen := make(map[int]bool, n)
	for len(chosen) < n {
		chosen[r.IntN(len(all))] = true
	}
	out := make([]surface.Item, 0, n)
	for i, item := range all {
		if chosen[i] {
			out = append(out, item)
		}
	}
	return out
}

func TestDiscoverySetIsSmall(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		p := surface.New(subset(r, all, 500), control(), surface.Config{Force: surface.Discovery})
		if size := len(array(t, p)); size > 6_000 || len(p.Shown) != 5 {
			t.Errorf("%d tools of %d bytes", len(p.Shown), size)
		}
	}
	p := surface.New(all, control(), surface.Config{Force: surface.Discovery})
	if size := len(array(t, p)); size > 6_000 || size < 4_000 {
		t.Errorf("the whole catalog's discovery set has %d bytes", size)
	}
}

func TestCompactEntriesAreSmall(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	p := surface.New(all, control(), surface.Config{Force: surface.CompactDirect})
	if len(p.Shown) != len(all)+2 {
		t.Fatalf("%d shown of %d", len(p.Shown), len(all))
	}
	for i, e := range p.Shown[2:] {
		line := surface.OneLine(all[i].Tool.Spec.Description)
		if e.Description != line || len(line) > 160 || line == "" {
			t.Fatalf("%s has the line %q, not %q", e.Name, e.Description, line)
		}
		if size := len(e.Definition()); size > len(e.Name)+len(line)+100 {
			t.Errorf("%s takes %d bytes beside its name and line", e.Name, size-len(e.Name)-len(line))
		}
	}
}

func TestMCPNeverCostsMoreThanTheToolsThemselves(t *testing.T) {
	t.Parallel()
	all := catalog(t)
	r := rand.New(rand.NewPCG(3, 4))
	modes := map[surface.Mode]int{}
	for range 300 {
		cfg := surface.Config{ForMCP: true, Window: 1_000 + r.IntN(60_000)}
		p := surface.New(subset(r, all, 1+r.IntN(60)), control(), cfg)
		modes[p.Mode]++
		if p.ShownTokens > p.ToolTokens {
			t.Errorf("%s costs %d, the tools %d", p.Mode, p.ShownTokens, p.ToolTokens)
		}
	}
	if len(modes) < 3 {
		t.Errorf("only these modes came up: %v", modes)
	}
}

func TestWholeCatalogIsValid(t *testing.T) {
	t.Parallel()
	p := surface.New(catalog(t), nil, surface.Config{Force: surface.Direct})
	for _, e := range p.Shown {
		var schema struct{ Type string }
		if !json.Valid(e.Definition()) || json.Unmarshal(e.Schema, &schema) != nil || schema.Type != "object" {
			t.Errorf("%s: %s", e.Name, e.Definition())
		}
	}
}

func BenchmarkCold(b *testing.B) {
	all, five := catalog(b), control()
	b.ReportAllocs()
	for b.Loop() {
		if p := surface.New(all, five, surface.Config{Window: 200_000}); p.Mode != surface.Discovery {
			b.Fatal(p.Reason)
		}
	}
}

func BenchmarkUnchanged(b *testing.B) {
	all, five := catalog(b), control()
	var planner surface.Planner
	first := planner.Plan(1, all, five, surface.Config{Window: 200_000})
	for i := range all {
		all[i].Wire = strings.Clone(all[i].Wire) // as from a caller who builds the list again
	}
	b.ReportAllocs()
	for b.Loop() {
		if planner.Plan(1, all, five, surface.Config{Window: 200_000}) != first {
			b.Fatal("another plan")
		}
	}
}

func BenchmarkOneToolChanged(b *testing.B) {
	all, five := catalog(b), control()
	var planner surface.Planner
	planner.Plan(1, all, five, surface.Config{Window: 200_000})
	b.ReportAllocs()
	for generation := uint64(2); b.Loop(); generation++ {
		changed := *all[7].Tool
		all[7].Tool = &changed
		planner.Plan(generation, all, five, surface.Config{Window: 200_000})
	}
}
