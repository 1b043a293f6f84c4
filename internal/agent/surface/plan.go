package surface

import (
	"encoding/json"
	"slices"

	"callgate/tool"
)

// Item is a tool that the reader may see, and the name under which its API
// sees it. An item without a Wire has the tool's own wire name; one without a
// Tool is a tool of which only the name is known.
type Item struct {
	Tool *tool.Tool
	Wire string
}

// Config is what a plan depends on beside the tools. The zero value is an app
// that says nothing.
type Config struct {
	Window        int      // the context window in tokens; 0: the client's, else 8000
	WindowFrom    string   // where Window is from, for people; empty: the app
	Force         Mode     // skips the calculation
	DirectModules []string // modules whose tools are always shown whole
	Pinned        []string // dotted or short names of tools that are always shown whole
	Primitives    []string // control tools beyond the five that are built and granted
	NoPrimitives  bool     // leaves just the five
	Client        string   // the name of the MCP client, for its window
	// ForMCP is for a reader who could have had the tools without us: a set
	// that would cost more than the tools themselves is not used.
	ForMCP bool
	// Tokens counts a definition; nil counts as the package says. Tokenizer
	// names it: functions of one name count alike. Without a name a count is
	// not kept, and is made again for each plan.
	Tokens    func(text []byte) int
	Tokenizer string
}

// equal reports whether two configurations make the same plan.
func (c *Config) equal(o *Config) bool {
	return c.Window == o.Window && c.WindowFrom == o.WindowFrom && c.Force == o.Force && c.NoPrimitives == o.NoPrimitives &&
		c.Client == o.Client && c.ForMCP == o.ForMCP &&
		(c.Tokens == nil) == (o.Tokens == nil) && c.Tokenizer == o.Tokenizer &&
		slices.Equal(c.DirectModules, o.DirectModules) &&
		slices.Equal(c.Pinned, o.Pinned) && slices.Equal(c.Primitives, o.Primitives)
}

// Plan is what a reader is shown, and why. It is never changed once made.
type Plan struct {
	Mode            Mode     `json:"mode"`
	Forced          bool     `json:"forced"`
	Window          int      `json:"window"`
	WindowFrom      string   `json:"window_from"` // flag, model, app, client table, or default
	Budget          int      `json:"budget"`
	ToolTokens      int      `json:"tool_tokens"`      // all of PerTool: what direct costs
	CompactTokens   int      `json:"compact_tokens"`   // as the calculation has it: 30 for each
	DiscoveryTokens int      `json:"discovery_tokens"` // what the discovery set costs
	PerTool         []Cost   `json:"per_tool"`         // what direct would show, in that order
	Shown           []Entry  `json:"shown"`            // the tool array
	ShownTokens     int      `json:"shown_tokens"`
	Reason          string   `json:"reason"`
	WouldChange     []string `json:"would_change,omitempty"` // what would change the decision
	Unmatched       []string `json:"unmatched,omitempty"`    // pinned names and direct modules that are not there
}

// Cost is the size of one tool's definition.
type Cost struct {
	Name   string `json:"name"` // dotted
	Tokens int    `json:"tokens"`
}

// Entry is one tool as it is shown.
type Entry struct {
	Name        string          `json:"name"` // wire
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"`
}

// New makes a plan. The items are what the reader may see, in the order in
// which they are to be shown; control are the kernel's own tools, of which the
// mode and the configuration choose. Where a control tool's description says
// {{catalog}}, the plan tells what there is to find.
//
// Who plans the same tools more than once keeps a [Planner].
func New(items, control []Item, cfg Config) *Plan {
	return new(Planner).Plan(0, items, control, cfg)
}

// The control tools by which the others are found, in the order shown.
var discoveryTools = [...]string{"search_tools", "get_tool", "execute_tool", "list_categories", "browse_category"}

// compactControls are those of the five that compact_direct needs.
var compactControls = [...]string{"get_tool", "execute_tool"}

// planBuilder is a plan in the making.
type planBuilder struct {
	*renderer
	cfg     *Config
	items   []Item
	control []Item
	catalog *catalog
	chosen  map[int]bool // the items that every mode shows whole
}

// plan follows the package's law from top to bottom.
func (d *planBuilder) plan() *Plan {
	p := &Plan{}
	p.Window, p.WindowFrom = d.cfg.window()
	p.Budget = p.Window / budgetShare
	d.chosen, p.Unmatched = d.selectDirect()

	direct := d.direct(p)
	found := d.discovery()
	p.ToolTokens, p.DiscoveryTokens = direct.tokens, found.tokens
	p.CompactTokens = len(p.PerTool) * compactTokens

	calculated := Decide(p.Window, p.ToolTokens, len(p.PerTool))
	p.Mode, p.Forced = calculated, d.cfg.Force.Valid()
	if p.Forced {
		p.Mode = d.cfg.Force
	}
	shown := direct
	switch p.Mode {
	case CompactDirect:
		shown = d.compact()
	case Discovery:
		shown = found
	}
	passed := 0 // what a set would have cost that was not worth it
	if d.cfg.ForMCP && !p.Forced && shown.tokens > direct.tokens {
		p.Mode, passed, shown = Direct, shown.tokens, direct
	}
	p.Shown, p.ShownTokens = shown.entries, shown.tokens
	if shown.entries == nil {
		p.Shown = []Entry{}
	}
	p.explain(d.cfg, calculated, passed)
	return p
}

// toolSet is a tool array and what it costs.
type toolSet struct {
	entries []Entry
	tokens  int
}

func (s *toolSet) add(e Entry, tokens int) {
	s.entries = append(s.entries, e)
	s.tokens += tokens
}

// direct is everything whole. It notes in p what each costs.
func (d *planBuilder) direct(p *Plan) toolSet {
	control := d.controls()
	s := toolSet{entries: make([]Entry, 0, len(control)+len(d.items))}
	p.PerTool = make([]Cost, 0, len(control)+len(d.items))
	for i, e := range d.withSummary(control) {
		tokens := d.count(e)
		s.add(e, tokens)
		p.PerTool = append(p.PerTool, Cost{dotted(control[i]), tokens})
	}
	for _, item := range d.items {
		r := d.full(item)
		s.add(r.Entry, r.tokens)
		p.PerTool = append(p.PerTool, Cost{dotted(item), r.tokens})
	}
	return s
}

// compact is every tool by name and one line.
func (d *planBuilder) compact() toolSet {
	s := toolSet{entries: make([]Entry, 0, len(d.items)+len(d.control))}
	for _, e := range d.withSummary(d.controls(compactControls[:]...)) {
		s.add(e, d.count(e))
	}
	for i, item := range d.items {
		if d.chosen[i] {
			r := d.full(item)
			s.add(r.Entry, r.tokens)
			continue
		}
		e := compactEntry(item)
		s.add(e, d.count(e))
	}
	return s
}

// discovery is what the others are found with, and what is shown whole anyway.
func (d *planBuilder) discovery() toolSet {
	var rest toolSet
	for i, item := range d.items {
		if d.chosen[i] {
			r := d.full(item)
			rest.add(r.Entry, r.tokens)
		}
	}
	var s toolSet
	for _, e := range d.withListing(d.controls(discoveryTools[:]...), rest.entries) {
		s.add(e, d.count(e))
	}
	return toolSet{append(s.entries, rest.entries...), s.tokens + rest.tokens}
}

// controls are the control tools that are shown: those of the five that are
// needed or pinned, in their order, and then the granted primitives in the
// caller's.
func (d *planBuilder) controls(needed ...string) []Item {
	var out []Item
	for _, name := range discoveryTools {
		for _, item := range d.control {
			if item.Tool != nil && item.Tool.ID.Name == name &&
				(slices.Contains(needed, name) || namesControl(item, d.cfg.Pinned)) {
				out = append(out, item)
			}
		}
	}
	if d.cfg.NoPrimitives {
		return out
	}
	for _, item := range d.control {
		if item.Tool != nil && !slices.Contains(discoveryTools[:], item.Tool.ID.Name) && namesControl(item, d.cfg.Primitives) {
			out = append(out, item)
		}
	}
	return out
}

// selectDirect finds the items that are pinned or of a direct module, and the names
// that choose nothing.
func (d *planBuilder) selectDirect() (chosen map[int]bool, unmatched []string) {
	if len(d.cfg.Pinned)+len(d.cfg.DirectModules) == 0 {
		return nil, nil
	}
	chosen = make(map[int]bool)
	missing := make(map[string]bool)
	for _, name := range slices.Concat(d.cfg.Pinned, d.cfg.DirectModules) {
		missing[name] = true
	}
	for i, item := range d.items {
		if item.Tool == nil {
			continue
		}
		if slices.Contains(d.cfg.DirectModules, item.Tool.ID.Namespace) {
			chosen[i] = true
			delete(missing, item.Tool.ID.Namespace)
		}
		if names(item, d.cfg.Pinned) {
			chosen[i] = true
			delete(missing, item.Tool.ID.Dotted())
			delete(missing, item.Tool.Spec.Short)
		}
	}
	for _, item := range d.control {
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

// names reports whether one of the names, dotted or short, is the item's.
func names(item Item, list []string) bool {
	t := item.Tool
	return len(list) > 0 && t != nil &&
		(slices.Contains(list, t.ID.Dotted()) || t.Spec.Short != "" && slices.Contains(list, t.Spec.Short))
}

// namesControl is names for a control tool, which goes by its bare name too.
func namesControl(item Item, list []string) bool {
	return slices.Contains(list, item.Tool.ID.Name) || names(item, list)
}

// dotted is an item's name for people.
func dotted(item Item) string {
	switch {
	case item.Tool == nil:
		return item.Wire
	case item.Tool.Spec.Name != "":
		return item.Tool.Spec.Name
	}
	return item.Tool.ID.Dotted()
}
