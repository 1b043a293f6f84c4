package render

import (
	"io"
	"maps"
	"slices"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// RulesReport writes what rules would make of recorded calls.
func (s Style) RulesReport(w io.Writer, r protocol.RulesReport) error {
	p := &page{Style: s}
	other := 0
	for _, g := range r.Groups {
		if g.Before != g.Now {
			other += g.Count
		}
	}
	p.printf("%s on record here, of which %d would fare otherwise\n", amount.Of(r.Calls, "call"), other)
	for _, g := range r.Groups {
		p.printf("\n%s  %s: %s\n", s.Strong(visible.Text(g.Tool)), amount.Of(g.Count, "call"),
			s.paint(outcomeColor(g.Now), change(g)))
		p.printf("  %s\n", s.Faint(visible.Text(g.Why)))
		for _, e := range g.Examples {
			p.printf("    %s  %s  %s\n", stamp(e.Time), text.OneLine(e.Call), text.Compact(e.Args, 100))
		}
	}
	if len(r.Unknown) > 0 {
		p.printf("\n%s\n", s.Faint("not judged:"))
		for _, why := range slices.Sorted(maps.Keys(r.Unknown)) {
			p.printf("  %s: %s\n", amount.Of(r.Unknown[why], "call"), why)
		}
	}
	return p.writeTo(w)
}

// change says how calls fared, and how they would.
func change(g protocol.RulesGroup) string {
	before := map[string]string{"run": "ran", "ask": "asked a human", "refuse": "refused"}[g.Before]
	now := map[string]string{"run": "would run", "ask": "would ask a human", "refuse": "would be refused"}[g.Now]
	return before + ", now " + now
}

func outcomeColor(outcome string) string {
	switch outcome {
	case "run":
		return good
	case "ask":
		return warn
	}
	return bad
}
