package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/protocol"
)

// planData is how a model is shown the tools, what each way would cost, and why.
type planData struct {
	protocol.Surface
	Bars       []costBar
	BudgetAt   int // on the picture
	Asked      string
	Dearest    []protocol.ToolCost
	DearestMax int
}

// costBar is a bar of the picture. Lengths are in its units.
type costBar struct {
	Mode   string
	Tokens int
	Length int
	Top    int
	Chosen bool
	Over   bool // it costs more than the budget
}

// chartWidth is how long the longest bar is.
const chartWidth = 470

// plan shows the budget as a picture.
func (c *toolPages) plan(w http.ResponseWriter, r *http.Request) error {
	s, err := c.session(r)
	if err != nil {
		return err
	}
	query := url.Values{}
	window := strings.TrimSpace(r.FormValue("window"))
	if n, err := strconv.Atoi(window); err == nil && n > 0 {
		query.Set("window", window)
	}
	got, err := s.Surface(r.Context(), query)
	if err != nil {
		return err
	}
	d := planData{Surface: *got, Asked: query.Get("window")}
	d.draw()
	return c.show(w, r, "plan", page{Title: "Plan", Nav: "plan", Data: d})
}

// draw computes the bars.
func (d *planData) draw() {
	most := max(d.ToolTokens, d.CompactTokens, d.DiscoveryTokens, d.Budget, 1)
	scale := func(n int) int { return n * chartWidth / most }
	d.BudgetAt = scale(d.Budget)
	for i, one := range []struct {
		mode   string
		tokens int
	}{{"direct", d.ToolTokens}, {"compact_direct", d.CompactTokens}, {"discovery", d.DiscoveryTokens}} {
		d.Bars = append(d.Bars, costBar{
			Mode: one.mode, Tokens: one.tokens, Length: max(scale(one.tokens), 2), Top: 24 + i*46,
			Chosen: one.mode == d.Mode, Over: one.tokens > d.Budget,
		})
	}
	d.Dearest = slices.Clone(d.PerTool)
	slices.SortFunc(d.Dearest, func(a, b protocol.ToolCost) int { return b.Tokens - a.Tokens })
	d.Dearest = d.Dearest[:min(len(d.Dearest), 12)]
	if len(d.Dearest) > 0 {
		d.DearestMax = d.Dearest[0].Tokens
	}
}
