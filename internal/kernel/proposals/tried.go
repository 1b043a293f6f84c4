package proposals

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"callgate/internal/amount"
	"callgate/internal/app"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/trial"
)

// tryRules says which recorded calls would be decided in another way than the rules of now
// decide them.
func (pl *planner) tryRules(ctx context.Context, tried *app.App) error {
	now, err := pl.opt.Try(ctx, pl.loaded, pl.loaded.App.Rules, apps.Off(pl.loaded.App))
	if err != nil {
		return err
	}
	then, err := pl.opt.Try(ctx, pl.loaded, tried.Rules, apps.Off(tried))
	if err != nil {
		return err
	}
	type key struct {
		tool string
		out  trial.Outcome
	}
	count := map[key]int{}
	for _, g := range now.Groups {
		count[key{g.Tool, g.Now}] -= g.Count
	}
	for _, g := range then.Groups {
		count[key{g.Tool, g.Now}] += g.Count
	}
	words := map[trial.Outcome]string{trial.Runs: "run unasked", trial.Asks: "ask you", trial.Refused: "be refused"}
	keys := slices.SortedFunc(maps.Keys(count), func(a, b key) int {
		return slices.Compare([]string{a.tool, string(a.out)}, []string{b.tool, string(b.out)})
	})
	for _, k := range keys {
		switch n := count[k]; {
		case n > 0:
			line := fmt.Sprintf("%s of %s would %s now", amount.Of(n, "more call"), k.tool, words[k.out])
			pl.plan.Tried = append(pl.plan.Tried, line)
		case n < 0:
			line := fmt.Sprintf("%s of %s would %s no more", amount.Of(-n, "call"), k.tool, words[k.out])
			pl.plan.Tried = append(pl.plan.Tried, line)
		}
	}
	if len(pl.plan.Tried) == 0 && then.Calls > 0 {
		pl.plan.Tried = []string{fmt.Sprintf("%s of this folder would fare as now", amount.Of(then.Calls, "call"))}
	}
	return nil
}
