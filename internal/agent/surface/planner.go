package surface

import (
	"slices"
	"sync"

	"callgate/tool"
)

// Planner makes plans, and remembers: the plan when nothing changed, and the
// rendering and the size of each tool when something did. The zero value is
// ready.
//
// # Law
//
// It is safe for concurrent use. The lock is held for single look-ups, never
// while a tool is rendered: of two that plan the same at once both do the
// work, with the same outcome, and the first one's plan is kept.
//
// The generation is the caller's, and only grows; a published tool is
// immutable, so its pointer stands for what it renders to, together with the
// wire name and the tokenizer it was last rendered for.
// Memory is bounded by what the present generation and the one before it have
// shown: a new generation forgets all plans, and every tool that the last one
// did not use. A plan for a generation that is past is made and not kept.
type Planner struct {
	mu         sync.Mutex
	generation uint64
	plans      []cachedPlan // the one used last at the end
	now, last  map[*tool.Tool]*rendered
}

// maxPlans is how many plans of a generation are kept: readers differ in what
// they may see and in their windows, and most ask again and again.
const maxPlans = 32

// cachedPlan is a plan with what it was made from.
type cachedPlan struct {
	items, control []Item
	cfg            Config
	plan           *Plan
}

// Plan returns the plan for some tools as [New] describes it: the very same
// one when the generation, the items, the control tools and the configuration
// are what they were.
func (p *Planner) Plan(generation uint64, items, control []Item, cfg Config) *Plan {
	if plan := p.find(generation, items, control, &cfg); plan != nil {
		return plan
	}
	d := &planBuilder{renderer: &renderer{planner: p, generation: generation, tokens: cfg.Tokens, tokenizer: cfg.Tokenizer},
		cfg: &cfg, items: items, control: control, catalog: newCatalog(items)}
	return p.store(generation, items, control, cfg, d.plan())
}

// find returns a kept plan, and turns the memory over for a new generation.
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

// store remembers a plan, and returns the one to use.
func (p *Planner) store(generation uint64, items, control []Item, cfg Config, plan *Plan) *Plan {
	if cfg.Tokens != nil && cfg.Tokenizer == "" {
		return plan
	}
	if first := p.find(generation, items, control, &cfg); first != nil {
		return first
	}
	cfg.DirectModules, cfg.Pinned, cfg.Primitives = slices.Clone(cfg.DirectModules), slices.Clone(cfg.Pinned), slices.Clone(cfg.Primitives)
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

// cached returns a tool's rendering under a wire name, as a tokenizer counts
// it, if that is the one remembered.
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

// cache keeps a tool's rendering.
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
