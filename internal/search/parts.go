package search

import (
	"math"

	"callgate/internal/search/embed"
)

const (
	maxParts  = 6  // that are searched for; each costs a search
	partTools = 10 // of a part that are looked at again
	// A part counts if its best tool is so near to it, compared with the whole request and its best
	// tool: then it asks for something, and does not only tell about it. A higher bar finds fewer
	// tools of requests for two things, a lower one disturbs those for one.
	partNearness = 0.9

	// Without a limit a few tools more are shown if they are as good: this share of the last one's
	// score, and so many.
	closeScore = 0.98
	maxStretch = 3
)

// withParts puts the best tool of each part of a request behind the best tool of
// the whole request, and says which part found a tool. A request for several
// things is near to none of its tools, so the best tool of a part may be far
// down, or be missing.
func (c *Catalog) withParts(
	model *embed.Static, clauses []string, whole ranking, r Request,
) ([]scored, map[int32]string) {
	if len(clauses) < 2 || len(whole.top) == 0 {
		return whole.top, nil
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	var tools []scored
	from := map[int32]string{}
	for _, clause := range clauses[:min(len(clauses), maxParts)] {
		found := c.rank(s, text{whole: clause}, model.Embed(nil, clause), r, partTools)
		if !found.matched || found.nearest < partNearness*whole.nearest {
			continue
		}
		tool := found.top[0]
		if _, known := from[tool.index]; !known && tool.index != whole.top[0].index {
			tools = append(tools, tool)
			from[tool.index] = clause
		}
	}
	return withTools(whole.top, tools, from), from
}

// withTools puts the tools of parts behind the first of the whole request, in
// the order of the request. Scores never rise from one tool to the next.
func withTools(whole, tools []scored, from map[int32]string) []scored {
	if len(tools) == 0 {
		return whole
	}
	list := make([]scored, 1, len(whole)+len(tools))
	list[0] = whole[0]
	add := func(f scored) {
		f.score = min(f.score, list[len(list)-1].score)
		list = append(list, f)
	}
	for _, f := range tools {
		add(f)
	}
	for _, f := range whole[1:] {
		if _, known := from[f.index]; !known {
			add(f)
		}
	}
	return list
}

// stretched is the limit of a request that names none: one more for each part
// that found a tool, and a few more where the next tools are as good as the last.
func stretched(top []scored, offset, limit, parts int) int {
	limit += parts
	for range maxStretch {
		last := offset + limit - 1
		if last < 0 || last+1 >= len(top) || top[last+1].score < closeScore*top[last].score {
			break
		}
		limit++
	}
	return min(limit, MaxLimit)
}

// quieted is the vector of a request in which values (addresses, paths, dates,
// quotations) count half: they say what a call is about, not which tool it wants.
// Quiet is the request without them, or empty.
func quieted(model *embed.Static, vector []float32, quiet string) []float32 {
	if quiet == "" {
		return vector
	}
	sum := model.Embed(nil, quiet)
	var square float64
	for i := range sum {
		sum[i] += vector[i]
		square += float64(sum[i]) * float64(sum[i])
	}
	if square == 0 {
		return vector
	}
	length := float32(math.Sqrt(square))
	for i := range sum {
		sum[i] /= length
	}
	return sum
}
