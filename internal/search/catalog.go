package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"callgate/tool"
)

// Catalog holds the tools that one caller may find, and the state of the index
// when it was made. It is immutable.
type Catalog struct {
	index *Index
	state *state
	tools []*tool.Tool // by dotted name
	slots []int32      // of each tool in the state
	order []place      // the tools in the order of their slots, so that scores are read as they lie

	examples exampleRows // of this catalog alone
}

// place is where a tool's scores are, and which tool it is.
type place struct {
	slot, row int32 // row may be none
	index     int32 // in the catalog
}

// Catalog makes a catalog of tools. Tools that the index does not hold are added
// to it first. Further examples are for this catalog alone.
func (x *Index) Catalog(ctx context.Context, tools []*tool.Tool, more ...Examples) (*Catalog, error) {
	c := &Catalog{index: x, tools: byName(tools)}
	var err error
	if c.state, err = x.ensure(ctx, c.tools); err != nil {
		return nil, err
	}
	c.slots = make([]int32, len(c.tools))
	for i, t := range c.tools {
		c.slots[i] = c.state.byTool[t]
	}
	c.order = make([]place, len(c.tools))
	for i, slot := range c.slots {
		c.order[i] = place{slot, c.state.rows[slot], int32(i)}
	}
	slices.SortFunc(c.order, func(a, b place) int { return cmp.Or(int(a.slot-b.slot), int(a.index-b.index)) })
	c.examples = x.catalogExamples(ctx, c, more)
	return c, nil
}

// byName returns tools in the order of their dotted names and versions. Those that have both in
// common keep their order.
func byName(tools []*tool.Tool) []*tool.Tool {
	type named struct {
		name  string
		index int
	}
	list := make([]named, len(tools))
	for i, t := range tools {
		list[i] = named{t.ID.Dotted(), i}
	}
	slices.SortFunc(list, func(a, b named) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return cmp.Or(tools[a.index].ID.Version.Compare(tools[b.index].ID.Version), a.index-b.index)
	})
	sorted := make([]*tool.Tool, len(list))
	for i, n := range list {
		sorted[i] = tools[n.index]
	}
	return sorted
}

// Current reports whether the index did not change since the catalog was made.
// If it did, a new catalog may find more: further tools may have vectors.
func (c *Catalog) Current() bool { return c.index.current.Load() == c.state }

// Len is the number of tools.
func (c *Catalog) Len() int { return len(c.tools) }

// Search answers a request.
func (c *Catalog) Search(ctx context.Context, r Request) (*Response, error) {
	limit, err := r.check()
	if err != nil {
		return nil, err
	}
	queries := r.queries()
	if len(queries) == 0 {
		return &Response{Answers: []Answer{c.browse(r, limit)}}, nil
	}
	c.index.vectors.wake()
	vectors, degraded, err := c.queryVectors(ctx, queries)
	if err != nil {
		return nil, err
	}
	answer := &Response{Answers: make([]Answer, len(queries)), Degraded: degraded}
	for i, q := range queries {
		if err := ctx.Err(); err != nil {
			return nil, &tool.Error{Op: "search", Kind: tool.Cancelled, Message: "the search was cancelled", Err: err}
		}
		var vector []float32
		if vectors != nil {
			vector = vectors[i]
		}
		found, matched := c.find(q, vector, r, limit)
		answer.Answers[i] = found
		if !matched {
			answer.Unmatched = append(answer.Unmatched, q)
		}
	}
	return answer, nil
}

// check reports what is wrong with a request, and how many hits it wants.
func (r *Request) check() (limit int, err error) {
	const op = "search"
	switch {
	case len(r.Queries) > MaxQueries:
		return 0, tool.Errorf(op, tool.Invalid, "%d queries at once are too many", len(r.Queries)).
			WithHint("ask at most %d", MaxQueries)
	case r.Limit < 0 || r.Offset < 0 || r.Offset > maxOffset:
		return 0, tool.Errorf(op, tool.Invalid, "limit and offset must be from 0 to %d", maxOffset)
	}
	switch r.Filter.MaxRisk {
	case "", tool.Low, tool.Medium, tool.High:
	default:
		return 0, tool.Errorf(op, tool.Invalid, "max risk %q is not a risk", tool.Truncate(string(r.Filter.MaxRisk))).
			WithHint("use low, medium or high")
	}
	for _, e := range r.Filter.SideEffects {
		switch e {
		case tool.None, tool.Read, tool.Write, tool.External:
		default:
			return 0, tool.Errorf(op, tool.Invalid, "%q is not a side effect", tool.Truncate(string(e))).
				WithHint("use none, read, write or external")
		}
	}
	if r.Limit == 0 {
		return DefaultLimit, nil
	}
	return min(r.Limit, MaxLimit), nil
}

// queries returns the queries that are not empty, as valid UTF-8 of limited length. A query is never
// refused for what is in it: what is beyond its limit is not read.
func (r *Request) queries() []string {
	const looked = 16 * maxQuery // for what is not space and not invalid
	var list []string
	for _, q := range r.Queries {
		q = q[:min(len(q), looked)]
		q = strings.TrimSpace(strings.ToValidUTF8(q, " "))
		if q != "" {
			list = append(list, strings.ToValidUTF8(q[:min(len(q), maxQuery)], ""))
		}
	}
	return list
}

// browse lists tools by name.
func (c *Catalog) browse(r Request, limit int) Answer {
	a := Answer{}
	for _, t := range c.tools {
		if !r.Filter.Passes(t) {
			continue
		}
		if a.Total >= r.Offset && len(a.Hits) < limit {
			a.Hits = append(a.Hits, Hit{Tool: t})
		}
		a.Total++
	}
	return a
}
