package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// world is a random set of rules.
type world struct {
	block       *policy.Capabilities
	constraints map[string]policy.Constraint
}

var (
	someModules = []string{"fs", "choir.fs", "shell"}
	someActions = []string{"read", "write", "fs"}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func randomEntry(r *rand.Rand) policy.Entry {
	e := policy.Entry{Module: pick(r, append([]string{"*"}, someModules...))}
	for range r.IntN(3) {
		e.Actions = append(e.Actions, pick(r, append([]string{"*"}, someActions...)))
	}
	return e
}

func randomEntries(r *rand.Rand) (entries []policy.Entry) {
	for range r.IntN(3) {
		entries = append(entries, randomEntry(r))
	}
	return entries
}

func randomWorld(r *rand.Rand) world {
	w := world{constraints: map[string]policy.Constraint{}}
	if r.IntN(4) > 0 {
		w.block = &policy.Capabilities{
			DefaultPolicy: pick(r, []policy.DefaultPolicy{"", policy.Auto, policy.Ask, policy.Block}),
			MaxRisk:       pick(r, []tool.Risk{"", tool.Low, tool.Medium, tool.High}),
			Grant:         randomEntries(r), Approve: randomEntries(r), Deny: randomEntries(r),
		}
		if r.IntN(4) == 0 {
			w.block.HiddenModules = []string{pick(r, someModules)}
		}
		if r.IntN(4) == 0 {
			w.block.HiddenActions = []string{pick(r, someModules) + "." + pick(r, someActions)}
		}
	}
	if r.IntN(4) == 0 {
		w.constraints[pick(r, someModules)] = policy.Constraint{Allowed: []string{pick(r, someActions)}}
	}
	if r.IntN(4) == 0 {
		w.constraints[pick(r, someModules)] = policy.Constraint{Blocked: []string{pick(r, someActions)}}
	}
	return w
}

// with returns the world with a changed capabilities block; it must have one.
func (w world) with(change func(*policy.Capabilities)) world {
	block := *w.block
	change(&block)
	return world{&block, w.constraints}
}

func randomTools(t testing.TB, r *rand.Rand) (tools []*tool.Tool) {
	for _, module := range someModules {
		for _, action := range someActions {
			tools = append(tools, made(t, module+"."+action, tool.Runtime{
				Risk:       pick(r, []tool.Risk{"", tool.Low, tool.Medium, tool.High, "wild"}),
				SideEffect: pick(r, []tool.SideEffect{"", tool.Read, tool.External}),
				AskFirst:   r.IntN(5) == 0,
				Internal:   r.IntN(8) == 0,
				Control:    r.IntN(5) == 0,
			}))
		}
	}
	return tools
}

// width orders verdicts by how much they permit; -1 means no valid verdict.
func width(v policy.Verdict) int {
	switch v {
	case policy.Hide, policy.Deny:
		return 0
	case policy.Approve:
		return 1
	case policy.Allow:
		return 2
	default:
		return -1
	}
}

func TestMoreRestrictionsNeverPermitMore(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := randomWorld(r)
		tools := randomTools(t, r)
		before := compiled(t, w.block, w.constraints)
		again := compiled(t, w.block, w.constraints)
		var denies, approves, hides *policy.Rules
		if w.block != nil {
			entry := randomEntry(r)
			at := r.IntN(len(w.block.Deny) + 1)
			denies = compiledWorld(t, w.with(func(c *policy.Capabilities) {
				c.Deny = slices.Insert(slices.Clone(c.Deny), at, entry)
			}))
			approves = compiledWorld(t, w.with(func(c *policy.Capabilities) {
				c.Approve = append(slices.Clone(c.Approve), entry)
			}))
			hides = compiledWorld(t, w.with(func(c *policy.Capabilities) {
				c.HiddenModules = append(slices.Clone(c.HiddenModules), pick(r, someModules))
			}))
		}
		for _, subject := range tools {
			for _, p := range []tool.Principal{model, daemon} {
				name := fmt.Sprintf("seed %d, %s, daemon %v", seed, subject.ID.Dotted(), p.Daemon)
				was := policy.Decide(before, subject, p)
				if diff := cmp.Diff(was, policy.Decide(again, subject, p)); diff != "" {
					t.Fatalf("%s: the same rules decide differently the second time:\n%s", name, diff)
				}
				if was.Reason == "" || was.Rule == "" || width(was.Verdict) < 0 {
					t.Fatalf("%s: a decision without a reason: %+v", name, was)
				}
				if w.block == nil {
					continue
				}
				if now := policy.Decide(denies, subject, p); width(now.Verdict) > width(was.Verdict) {
					t.Fatalf("%s: one more deny turned %+v into %+v", name, was, now)
				}
				if now := policy.Decide(hides, subject, p); width(now.Verdict) > width(was.Verdict) {
					t.Fatalf("%s: hiding a module turned %+v into %+v", name, was, now)
				}
				now := policy.Decide(approves, subject, p)
				if !p.Daemon && now.Verdict == policy.Allow && was.Verdict != policy.Allow {
					t.Fatalf("%s: one more approve turned %+v into %+v", name, was, now)
				}
			}
		}
	}
}

func compiledWorld(t testing.TB, w world) *policy.Rules { return compiled(t, w.block, w.constraints) }
