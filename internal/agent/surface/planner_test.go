package surface_test

import (
	"bytes"
	"sync"
	"testing"

	"callgate/internal/agent/surface"
)

func TestPlannerCachesPlansAndRenderings(t *testing.T) {
	t.Parallel()
	counted := 0
	cfg := surface.Config{Force: surface.Discovery, Tokenizer: "bytes", Tokens: func(text []byte) int {
		counted++
		return len(text) / 4
	}}
	items, five := many(50), control()
	var planner surface.Planner
	plan := func(generation uint64) *surface.Plan {
		t.Helper()
		counted = 0
		return planner.Plan(generation, items, five, cfg)
	}
	first := plan(1)
	if counted < 50 {
		t.Fatalf("%d definitions counted", counted)
	}
	if again := plan(1); again != first || counted != 0 {
		t.Errorf("nothing changed, and %d were counted", counted)
	}

	changed := *items[3].Tool
	changed.Spec.Description = "Does another thing."
	items[3].Tool = &changed
	second := plan(1)
	if second == first || counted > 20 || second.ToolTokens >= first.ToolTokens {
		t.Errorf("one tool changed: %d counted, %d tokens after %d", counted, second.ToolTokens, first.ToolTokens)
	}
	if third := plan(2); third == second || counted > 20 {
		t.Errorf("a new generation of the same tools: %d counted", counted)
	}
	if old := plan(1); old.ToolTokens != second.ToolTokens || !bytes.Equal(array(t, old), array(t, second)) {
		t.Errorf("the plan for an older generation differs")
	}

	renamed := items[4].Wire
	items[4].Wire = "other"
	if p := plan(2); p.Shown == nil || p.PerTool[4].Tokens == 0 || counted > 20 {
		t.Errorf("a new wire name: %d counted", counted)
	}
	items[4].Wire = renamed

	cfg.Tokenizer = ""
	if p := plan(2); p == plan(2) || counted < 50 {
		t.Errorf("the counts of a tokenizer without a name were cached: %d counted", counted)
	}
	cfg.Tokenizer = "other"
	if plan(2); counted < 50 {
		t.Errorf("another tokenizer's counts were used: %d counted", counted)
	}
}

func TestPlannerDropsToolsOfOldGenerations(t *testing.T) {
	t.Parallel()
	counted := 0
	cfg := surface.Config{Tokenizer: "bytes", Tokens: func(text []byte) int { counted++; return len(text) / 4 }}
	items := many(10)
	var planner surface.Planner
	planner.Plan(1, items, nil, cfg)
	planner.Plan(2, nil, nil, cfg)
	planner.Plan(3, nil, nil, cfg)
	counted = 0
	if planner.Plan(4, items, nil, cfg); counted != 10 {
		t.Errorf("%d of ten tools counted that two generations had not seen", counted)
	}
}

func TestPlannerServesConcurrentCallers(t *testing.T) {
	t.Parallel()
	items, five := many(60), control()
	want := surface.New(items, five, surface.Config{Window: 20_000})
	var planner surface.Planner
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for generation := range uint64(20) {
				window := 20_000 + 1_000*(i%4)
				p := planner.Plan(generation, items, five, surface.Config{Window: window})
				if p.Window != window || p.ToolTokens != want.ToolTokens || p.ShownTokens == 0 {
					t.Errorf("window %d with %d tokens", p.Window, p.ToolTokens)
				}
			}
		})
	}
	wg.Wait()
	if got := planner.Plan(19, items, five, surface.Config{Window: 20_000}); !bytes.Equal(array(t, got), array(t, want)) {
		t.Error("the plan differs from one made alone")
	}
}
