package surface

import (
	"encoding/json"
	"slices"

	"callgate/tool"
)

// Item is a tool that the reader may see.
type Item struct {
	Tool *tool.Tool // nil: only the name of the tool is known
	Wire string     // the name for the model API; "": the tool's own wire name
}

// Config holds what a plan depends on beside the tools. The zero value is an app
// without settings.
type Config struct {
	Window        int      // the context window in tokens; 0: the client's, else 8000
	WindowFrom    string   // the source of Window, shown to people; "": the app
	Force         Mode     // the mode, without a calculation
	DirectModules []string // modules whose tools are always shown whole
	Pinned        []string // dotted or short names of tools that are always shown whole
	Primitives    []string // granted control tools beyond the five discovery tools
	NoPrimitives  bool     // shows only the five discovery tools
	Client        string   // the name of the MCP client; decides its window
	// ForMCP is set for a reader that could connect to the tools directly: a mode
	// that costs more than the tools themselves is not used.
	ForMCP bool
	// Tokens counts the tokens of a definition; nil counts as the package comment
	// says. Tokenizer is its name: functions of one name count alike. Counts of a
	// function without a name are not cached.
	Tokens    func(text []byte) int
	Tokenizer string
}

// equal reports whether two configurations make the same plan.
func (c *Config) equal(o *Config) bool {
	return c.Window == o.Window && c.WindowFrom == o.WindowFrom && c.Force == o.Force &&
		c.NoPrimitives == o.NoPrimitives && c.Client == o.Client && c.ForMCP == o.ForMCP &&
		(c.Tokens == nil) == (o.Tokens == nil) && c.Tokenizer == o.Tokenizer &&
		slices.Equal(c.DirectModules, o.DirectModules) &&
		slices.Equal(c.Pinned, o.Pinned) && slices.Equal(c.Primitives, o.Primitives)
}

// Plan holds the tools that a reader sees, and the reasons. It is never changed.
type Plan struct {
	Mode            Mode     `json:"mode"`
	Forced          bool     `json:"forced"`
	Window          int      `json:"window"`
	WindowFrom      string   `json:"window_from"` // flag, model, app, client table, or default
	Budget          int      `json:"budget"`
	ToolTokens      int      `json:"tool_tokens"`      // the cost of direct: the sum of PerTool
	CompactTokens   int      `json:"compact_tokens"`   // the calculated cost of compact_direct: 30 for each
	DiscoveryTokens int      `json:"discovery_tokens"` // the cost of the discovery set
	PerTool         []Cost   `json:"per_tool"`         // the tools of direct, in its order
	Shown           []Entry  `json:"shown"`            // the tool array
	ShownTokens     int      `json:"shown_tokens"`
	Reason          string   `json:"reason"`
	WouldChange     []string `json:"would_change,omitempty"` // changes that lead to another mode
	Unmatched       []string `json:"unmatched,omitempty"`    // pinned names and direct modules that do not exist
}

// Cost is the size of one tool's definition.
type Cost struct {
	Name   string `json:"name"` // dotted
	Tokens int    `json:"tokens"`
}

// Entry is one tool of the tool array.
type Entry struct {
	Name        string          `json:"name"` // wire
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"`
}

// New makes a plan. The items are the tools that the reader may see, in the order
// of the tool array. control holds the kernel's own tools; the mode and the
// configuration choose among them. The plan replaces {{catalog}} in a control
// tool's description with a list of the tools that can be found.
//
// Use a [Planner] to plan the same tools more than once.
func New(items, control []Item, cfg Config) *Plan {
	return new(Planner).Plan(0, items, control, cfg)
}

// discoveryTools are the control tools that find the others, in the order of the
// tool array.
var discoveryTools = [...]string{"search_tools", "get_tool", "execute_tool", "list_categories", "browse_category"}

// compactControls are the discovery tools that compact_direct needs.
var compactControls = [...]string{"get_tool", "execute_tool"}

// planBuilder makes one plan.
type planBuilder struct {
	*renderer
	cfg     *Config
	items   []Item
	control []Item
	catalog *catalog
	chosen  map[int]bool // the indexes of the items that every mode shows whole
}

// plan makes the plan.
func (b *planBuilder) plan() *Plan {
	p := &Plan{}
	p.Window, p.WindowFrom = b.cfg.window()
	p.Budget = p.Window / budgetShare
	b.chosen, p.Unmatched = b.selectDirect()

	direct := b.direct(p)
	found := b.discovery()
	p.ToolTokens, p.DiscoveryTokens = direct.tokens, found.tokens
	p.CompactTokens = len(p.PerTool) * compactTokens

	calculated := Decide(p.Window, p.ToolTokens, len(p.PerTool))
	p.Mode, p.Forced = calculated, b.cfg.Force.Valid()
	if p.Forced {
		p.Mode = b.cfg.Force
	}
	shown := direct
	switch p.Mode {
	case CompactDirect:
		shown = b.compact()
	case Discovery:
		shown = found
	}
	rejected := 0 // the cost of the calculated mode, if direct costs less
	if b.cfg.ForMCP && !p.Forced && shown.tokens > direct.tokens {
		p.Mode, rejected, shown = Direct, shown.tokens, direct
	}
	p.Shown, p.ShownTokens = shown.entries, shown.tokens
	if shown.entries == nil {
		p.Shown = []Entry{}
	}
	p.explain(b.cfg, calculated, rejected)
	return p
}

// toolSet is a tool array and its cost.
type toolSet struct {
	entries []Entry
	tokens  int
}

func (s *toolSet) add(e Entry, tokens int) {
	s.entries = append(s.entries, e)
	s.tokens += tokens
}

// direct returns every tool whole, and lists the cost of each in p.
func (b *planBuilder) direct(p *Plan) toolSet {
	control := b.controls()
	s := toolSet{entries: make([]Entry, 0, len(control)+len(b.items))}
	p.PerTool = make([]Cost, 0, len(control)+len(b.items))
	for i, e := range b.withSummary(control) {
		tokens := b.count(e)
		s.add(e, tokens)
		p.PerTool = append(p.PerTool, Cost{dotted(control[i]), tokens})
	}
	for _, item := range b.items {
		r := b.full(item)
		s.add(r.Entry, r.tokens)
		p.PerTool = append(p.PerTool, Cost{dotted(item), r.tokens})
	}
	return s
}

// compact returns every tool by name and one line.
func (b *planBuilder) compact() toolSet {
	s := toolSet{entries: make([]Entry, 0, len(b.items)+len(b.control))}
	for _, e := range b.withSummary(b.controls(compactControls[:]...)) {
		s.add(e, b.count(e))
	}
	for i, item := range b.items {
		if b.chosen[i] {
			r := b.full(item)
			s.add(r.Entry, r.tokens)
			continue
		}
		e := compactEntry(item)
		s.add(e, b.count(e))
	}
	return s
}

// discovery returns the discovery tools, and the tools that every mode shows whole.
func (b *planBuilder) discovery() toolSet {
	var rest toolSet
	for i, item := range b.items {
		if b.chosen[i] {
			r := b.full(item)
			rest.add(r.Entry, r.tokens)
		}
	}
	var s toolSet
	for _, e := range b.withListing(b.controls(discoveryTools[:]...), rest.entries) {
		s.add(e, b.count(e))
	}
	return toolSet{append(s.entries, rest.entries...), s.tokens + rest.tokens}
}

// controls returns the control tools to show: the discovery tools that are needed or
// pinned, in their order, then the granted primitives in the caller's order.
func (b *planBuilder) controls(needed ...string) []Item {
	var out []Item
	for _, name := range discoveryTools {
		for _, item := range b.control {
			if item.Tool != nil && item.Tool.ID.Name == name &&
				(slices.Contains(needed, name) || namesControl(item, b.cfg.Pinned)) {
				out = append(out, item)
			}
		}
	}
	if b.cfg.NoPrimitives {
		return out
	}
	for _, item := range b.control {
		if item.Tool == nil || slices.Contains(discoveryTools[:], item.Tool.ID.Name) {
			continue
		}
		if item.Tool.Runtime.Occasional && len(needed) > 0 && !namesControl(item, b.cfg.Pinned) {
			continue // tools are few or pinned where it is shown
		}
		if namesControl(item, b.cfg.Primitives) {
			out = append(out, item)
		}
	}
	return out
}

// selectDirect returns the items that are pinned or of a direct module, and the
// names that match nothing.
func (b *planBuilder) selectDirect() (chosen map[int]bool, unmatched []string) {
	if len(b.cfg.Pinned)+len(b.cfg.DirectModules) == 0 {
		return nil, nil
	}
	chosen = make(map[int]bool)
	missing := make(map[string]bool)
	for _, name := range slices.Concat(b.cfg.Pinned, b.cfg.DirectModules) {
		missing[name] = true
	}
	for i, item := range b.items {
		if item.Tool == nil {
			continue
		}
		if slices.Contains(b.cfg.DirectModules, item.Tool.ID.Namespace) {
			chosen[i] = true
			delete(missing, item.Tool.ID.Namespace)
		}
		if names(item, b.cfg.Pinned) {
			chosen[i] = true
			delete(missing, item.Tool.ID.Dotted())
			delete(missing, item.Tool.Spec.Short)
		}
	}
	for _, item := range b.control {
		if item.Tool != nil {
			delete(missing, item.Tool.ID.Name)
			delete(missing, item.Tool.ID.Dotted())
			delete(missing, item.Tool.Spec.Short)
		}
	}
	for name := range missing {
		unmatched = append(unmatched, name)
	}
	slices.Sort(unmatched)
	return chosen, unmatched
}

// names reports whether the list holds the item's dotted or short name.
func names(item Item, list []string) bool {
	t := item.Tool
	return len(list) > 0 && t != nil &&
		(slices.Contains(list, t.ID.Dotted()) || t.Spec.Short != "" && slices.Contains(list, t.Spec.Short))
}

// namesControl is names for a control tool, which has its bare name too.
func namesControl(item Item, list []string) bool {
	return slices.Contains(list, item.Tool.ID.Name) || names(item, list)
}

// dotted returns an item's name for people.
func dotted(item Item) string {
	switch {
	case item.Tool == nil:
		return item.Wire
	case item.Tool.Spec.Name != "":
		return item.Tool.Spec.Name
	}
	return item.Tool.ID.Dotted()
}
