package modeluse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"callgate/tool"
)

// Advice is which models a tool should ask, and why.
type Advice struct {
	Now    []string // the models that it asks now, in order
	Models []string // those that it should ask, in order; empty: as now
	Reason string
}

// MinCalls is how many calls a model must have had to be judged, where nothing else is said.
const MinCalls = 30

// margin is how much less often a cheaper model may succeed and count as not worse: no more than
// this, with 95 in a hundred certainty.
const margin = 0.05

// Advise says which models a tool should ask, by the rows of that tool. least is how many calls a
// model must have had; 0: MinCalls.
//
// A model takes the first place if it is cheaper than the one that has it and not worse, or if it
// is better. Both are judged by the interval of the difference of their rates of success, which is
// made of their Wilson intervals. Where the first one had too few calls, the one with the
// highest lower bound stands in its place.
func Advise(now []string, rows []Row, least int) (Advice, error) {
	least = cmp.Or(least, MinCalls)
	measured := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Judged < least })
	advice := Advice{Now: now}
	if len(measured) == 0 {
		return advice, tool.Errorf("modeluse.Advise", tool.NotFound,
			"no model had %d calls yet that say something of it", least).
			WithHint("ask again when there were more, or with a longer --since; callgate models shows the calls")
	}
	base := slices.MaxFunc(measured, func(a, b Row) int { return cmp.Compare(lower(a), lower(b)) })
	unmeasured := ""
	if len(now) > 0 {
		if i := slices.IndexFunc(measured, func(r Row) bool { return r.Model == now[0] }); i >= 0 {
			base = measured[i]
		} else {
			unmeasured = fmt.Sprintf("%s had fewer than %d calls; ", now[0], least)
		}
	}
	best, why := choose(base, measured)
	if len(now) > 0 && best.Model == now[0] {
		advice.Reason = fmt.Sprintf("%s stays first: %s, and no other is shown to be better, or cheaper and not worse",
			best.Model, describe(best))
		return advice, nil
	}
	advice.Models = append([]string{best.Model}, slices.DeleteFunc(slices.Clone(now), func(name string) bool {
		return name == best.Model
	})...)
	advice.Reason = unmeasured + why
	return advice, nil
}

// choose returns the model for the first place, and why.
func choose(base Row, measured []Row) (Row, string) {
	cheapest, better := base, base
	for _, r := range measured {
		if r.Model == base.Model {
			continue
		}
		least := difference(r, base)
		if least > -margin && r.Priced && base.Priced && cheapest.Priced && price(r) < price(cheapest) {
			cheapest = r
		}
		if least > 0 && lower(r) > lower(better) {
			better = r
		}
	}
	switch {
	case cheapest.Model != base.Model:
		return cheapest, fmt.Sprintf("%s is cheaper than %s and not worse by more than %.0f points: %s, against %s",
			cheapest.Model, base.Model, 100*margin, describe(cheapest), describe(base))
	case better.Model != base.Model:
		return better, fmt.Sprintf("%s is better than %s: %s, against %s",
			better.Model, base.Model, describe(better), describe(base))
	}
	return base, fmt.Sprintf("%s did best: %s", base.Model, describe(base))
}

func describe(r Row) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d calls went well (at least %.1f %%)", r.Succeeded, r.Judged, 100*lower(r))
	if r.Priced {
		fmt.Fprintf(&out, " at $%.6f each", price(r))
	}
	return out.String()
}

// price is the cost of a call in US dollars.
func price(r Row) float64 { return float64(r.Cost) / 1e6 / float64(max(r.Calls, 1)) }

// z is the quantile of the normal distribution for an interval of 95 in a hundred.
const z = 1.959964

// wilson is the interval of a rate of which a number of calls is known.
func wilson(succeeded, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	p, count := float64(succeeded)/float64(n), float64(n)
	middle := (p + z*z/(2*count)) / (1 + z*z/count)
	half := z / (1 + z*z/count) * math.Sqrt(p*(1-p)/count+z*z/(4*count*count))
	return max(middle-half, 0), min(middle+half, 1)
}

func lower(r Row) float64 {
	low, _ := wilson(r.Succeeded, r.Judged)
	return low
}

// difference is the least by which one model succeeds more often than another: the lower end of
// the interval that Newcombe makes of two of Wilson's.
func difference(a, b Row) float64 {
	lowA, _ := wilson(a.Succeeded, a.Judged)
	_, highB := wilson(b.Succeeded, b.Judged)
	return a.Success() - b.Success() - math.Hypot(a.Success()-lowA, highB-b.Success())
}
