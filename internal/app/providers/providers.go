// Package providers reads how much an app asks of its models' providers: the block providers.
//
//	providers:
//	  openai:
//	    rpm: 500
//	    tpm: 200000
//	    max_concurrent: 8
//	    models:
//	      gpt-5.4-nano: {rpm: 100}
//
// Law: what several files say holds, each for itself: no file widens what another one limits, and
// what one limits is counted by itself. A file that says nothing limits nothing.
package providers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"callgate/internal/app/node"
	"callgate/internal/provider/queue"
)

// Block is what one file says, by the provider's name as it is written.
type Block map[string]Provider

// Provider is what one file says of a provider.
type Provider struct {
	Limits queue.Limits            // of all its models together, for each key
	Models map[string]queue.Limits // of one model each, by its name
	Bounds queue.Bounds
}

// All is what the files in force say.
type All []Block

// Of returns what the files say of a model: the limits of its provider, its own, and the bounds of its
// requests, of which the stricter counts. canonical makes one name of a provider's names.
func (a All) Of(canonical func(string) string, provider, model string) (key, own []queue.Limits, b queue.Bounds) {
	for _, block := range a {
		for name, said := range block {
			if canonical(name) != canonical(provider) {
				continue
			}
			key, own = append(key, said.Limits), append(own, said.Models[model])
			b.Length, b.Wait = least(b.Length, said.Bounds.Length), least(b.Wait, said.Bounds.Wait)
			b.CoolDown = cmp.Or(b.CoolDown, said.Bounds.CoolDown)
			b.CoolDownAfter = least(b.CoolDownAfter, said.Bounds.CoolDownAfter)
		}
	}
	return key, own, b
}

// Names lists the providers that the files name, as they are written, each once.
func (a All) Names() (names []string) {
	for _, block := range a {
		names = append(names, slices.Collect(maps.Keys(block))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// least is the stricter of two bounds, of which 0 is none.
func least[N int | time.Duration](a, b N) N {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// The levels of the block.
const (
	Level      = "providers.<provider>"
	LevelModel = "providers.<provider>.models.<model>"
)

// What is used where only one of the two is written.
const (
	defaultCoolDown      = 30 * time.Second
	defaultCoolDownAfter = 5
)

// Into reads the block.
func Into(to *All, r *node.Reader) node.Read {
	return func(e node.Entry) {
		block := Block{}
		const form = "write one provider on each line, such as openai: {rpm: 500, tpm: 200000}"
		for _, in := range r.Entries(e, form) {
			block[in.Key] = read(r, in)
		}
		*to = All{block}
	}
}

func read(r *node.Reader, e node.Entry) Provider {
	var p Provider
	keys := limits(r, &p.Limits)
	keys["models"] = func(in node.Entry) {
		p.Models = map[string]queue.Limits{}
		const form = "write one model on each line, such as gpt-5.4-nano: {rpm: 100}"
		for _, one := range r.Entries(in, form) {
			var l queue.Limits
			r.Mapping(LevelModel, one, limits(r, &l))
			p.Models[one.Key] = l
		}
	}
	keys["max_queue"] = r.Number(&p.Bounds.Length, 1, 1_000_000, "write how many requests may wait at once, such as 200")
	keys["max_wait"] = r.Duration(&p.Bounds.Wait)
	keys["cool_down"] = r.Duration(&p.Bounds.CoolDown)
	keys["cool_down_after"] = r.Number(&p.Bounds.CoolDownAfter, 1, 1000,
		"write after how many failures in a row the provider is not asked for a while, such as 5")
	r.Mapping(Level, e, keys)
	if p.Bounds.CoolDown > 0 || p.Bounds.CoolDownAfter > 0 {
		p.Bounds.CoolDown = cmp.Or(p.Bounds.CoolDown, defaultCoolDown)
		p.Bounds.CoolDownAfter = cmp.Or(p.Bounds.CoolDownAfter, defaultCoolDownAfter)
	}
	return p
}

func limits(r *node.Reader, to *queue.Limits) map[string]node.Read {
	return map[string]node.Read{
		"rpm": r.Number(&to.RPM, 1, 1_000_000, "write how many requests may begin in a minute, such as 500"),
		"tpm": r.Number(&to.TPM, 1, 1_000_000_000, "write how many tokens may be used in a minute, such as 200000"),
		"max_concurrent": r.Number(&to.MaxConcurrent, 1, 10_000,
			"write how many requests may run at once, such as 8"),
	}
}
