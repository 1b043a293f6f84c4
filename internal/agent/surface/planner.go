package surface

import (
	"slices"
	"sync"

	"callgate/tool"
)

// Planner makes plans and caches them: the plan if nothing changed, and the
// rendering and size of each tool if something did. The zero value is ready to
// use.
//
// # Law
//
// A planner is safe for concurrent use. It holds its lock only for lookups, never
// while it renders a tool: if two callers plan the same at once, both do the work
// with the same result, and the first plan is cached.
//
// The generation comes from the caller and only grows. A published tool is
// immutable, so the key of a rendering is the tool's pointer, the wire name and
// the tokenizer. The cache covers only the current generation and the one before:
// a new generation drops all plans, and every tool that the last one did not use.
// A plan for an older generation is made but not cached.
type Planner struct {
	mu         sync.Mutex
	generation uint64
	plans      []cachedPlan // the most recently used at the end
	now, last  map[*tool.Tool]*rendered
}

// maxPlans limits the cached plans of a generation: readers differ in the tools
// they may see and in their windows, and most ask again and again.
const maxPlans = 32

// cachedPlan is a plan with its inputs.
type cachedPlan struct {
	items, control []Item
	cfg            Config
	plan           *Plan
}

// Plan returns the plan that [New] describes. If the generation, the items, the
// control tools and the configuration are unchanged, it returns the same plan.
func (p *Planner) Plan(generation uint64, items, control []Item, cfg Config) *Plan {
	if plan := p.find(generation, items, control, &cfg); plan != nil {
		return plan
	}
	b := &planBuilder{
		renderer: &renderer{planner: p, generation: generation, tokens: cfg.Tokens, tokenizer: cfg.Tokenizer},
		cfg:      &cfg, items: items, control: control, catalog: newCatalog(items),
	}
	return p.store(generation, items, control, cfg, b.plan())
}

// find returns a cached plan. It drops the old plans when a generation is new.
func (p *Planner) find(generation uint64, items, control []Item, cfg *Config) *Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation > p.generation {
		p.generation, p.plans = generation, nil
		p.now, p.last = nil, p.now
	}
	if generation < p.generation {
		return nil
	}
	for i := len(p.plans) - 1; i >= 0; i-- {
		k := p.plans[i]
		if k.cfg.equal(cfg) && slices.Equal(k.control, control) && slices.Equal(k.items, items) {
			p.plans = append(slices.Delete(p.plans, i, i+1), k)
			return k.plan
		}
	}
	return nil
}

// store caches a plan, and returns the one to use.
func (p *Planner) store(generation uint64, items, control []Item, cfg Config, plan *Plan) *Plan {
	if cfg.Tokens != nil && cfg.Tokenizer == "" {
		return plan
	}
	if first := p.find(generation, items, control, &cfg); first != nil {
		return first
	}
	cfg.DirectModules, cfg.Pinned = slices.Clone(cfg.DirectModules), slices.Clone(cfg.Pinned)
	cfg.Primitives = slices.Clone(cfg.Primitives)
	k := cachedPlan{slices.Clone(items), slices.Clone(control), cfg, plan}
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation != p.generation {
		return plan
	}
	if len(p.plans) == maxPlans {
		p.plans = slices.Delete(p.plans, 0, 1)
	}
	p.plans = append(p.plans, k)
	return plan
}

// cached returns the cached rendering of a tool, if it is for this wire name and
// tokenizer.
func (p *Planner) cached(generation uint64, item Item, tokenizer string) *rendered {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.now[item.Tool]
	if r == nil {
		if r = p.last[item.Tool]; r != nil && generation == p.generation {
			p.put(item.Tool, r)
		}
	}
	if r == nil || r.wire != item.Wire || r.tokenizer != tokenizer {
		return nil
	}
	return r
}

// cache stores a tool's rendering.
func (p *Planner) cache(generation uint64, t *tool.Tool, r *rendered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if generation == p.generation {
		p.put(t, r)
	}
}

func (p *Planner) put(t *tool.Tool, r *rendered) {
	if p.now == nil {
		p.now = make(map[*tool.Tool]*rendered, len(p.last))
	}
	p.now[t] = r
}
