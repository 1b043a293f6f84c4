// Package budget reads what an app's models may cost: the block budget.
//
//	budget:
//	  usd_per_day: 5
//	  tokens_per_day: 2000000
//	  providers:
//	    openai: {usd_per_day: 2}
//
// Law: a project's file limits its app, and the user's own file limits all apps together. No file
// widens what another one limits.
package budget

import (
	"math"

	"callgate/internal/app/node"
	"callgate/internal/provider/budget"
)

// The levels of the block.
const (
	Level         = "budget"
	LevelProvider = "budget.providers.<provider>"
)

// Into reads the block.
func Into(to *budget.Budget, r *node.Reader) node.Read {
	return func(e node.Entry) {
		var b budget.Budget
		unpriced := ""
		keys, finish := limit(r, &b.Total)
		keys["unpriced"] = r.Choice(&unpriced, "refuse", "count_tokens")
		keys["providers"] = func(in node.Entry) {
			b.Providers = map[string]budget.Limit{}
			const form = "write one provider on each line, such as openai: {usd_per_day: 2}"
			for _, one := range r.Entries(in, form) {
				var l budget.Limit
				keys, finish := limit(r, &l)
				r.Mapping(LevelProvider, one, keys)
				finish()
				b.Providers[one.Key] = l
			}
		}
		r.Mapping(Level, e, keys)
		finish()
		b.Unpriced = unpriced == "count_tokens"
		*to = b
	}
}

// limit returns what reads the keys of a limit, and what makes the limit of them.
func limit(r *node.Reader, to *budget.Limit) (keys map[string]node.Read, finish func()) {
	var usd *float64
	return map[string]node.Read{
			"usd_per_day": r.Decimal(&usd, 0.0001, 1_000_000),
			"tokens_per_day": r.Number(&to.Tokens, 1, 1_000_000_000,
				"write how many tokens may be used in a day, such as 2000000"),
		}, func() {
			if usd != nil {
				to.Cost = int64(math.Round(*usd * 1e6))
			}
		}
}
