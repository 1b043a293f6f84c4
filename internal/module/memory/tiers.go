package memory

import (
	"context"
	"slices"
	"strings"

	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

// gather reads the tiers.
func (c *memoryCall) gather(ctx context.Context, tiers []string) ([]found, error) {
	var all []found
	add := func(key memstore.Key, tier, prefix string) error {
		entries, err := c.store.Read(ctx, key)
		if tier == longTerm {
			entries = summaryOf(entries)
		}
		for _, e := range entries {
			all = append(all, found{Entry: e, tier: tier, ref: prefix + e.ID})
		}
		return err
	}
	if slices.Contains(tiers, working) {
		if err := add(c.session(), working, ""); err != nil {
			return nil, err
		}
	}
	if slices.Contains(tiers, tierKnowledge) {
		if err := add(c.knowledge(), tierKnowledge, ""); err != nil {
			return nil, err
		}
	}
	for _, other := range []struct {
		tier     string
		from, to int
	}{{otherSessions, 0, maxOtherSessions}, {longTerm, maxOtherSessions, maxOtherSessions + maxOldSessions}} {
		if !slices.Contains(tiers, other.tier) {
			continue
		}
		ids, err := c.store.Sessions(ctx, c.by.User, c.by.App, c.by.Session, other.to)
		if err != nil {
			const message = "the memory of other sessions cannot be listed"
			return nil, &tool.Error{Op: c.op, Kind: tool.Unavailable, Message: message, Err: err}
		}
		for _, id := range ids[min(other.from, len(ids)):] {
			if err := add(memstore.Key{User: c.by.User, App: c.by.App, Session: id}, other.tier, id+"/"); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// wholeSession is the ID of what a session of long ago is remembered by.
const wholeSession = "all"

// How much of a session that has no summary stands for it.
const (
	summaryTasks = 10
	summaryFacts = 10
	summaryText  = 300 // bytes of each
)

// summaryOf returns what a session of long ago is remembered by: the summary that a model
// wrote, with the goal; without one, the goal, the last tasks and the last facts.
func summaryOf(entries []*memstore.Entry) []*memstore.Entry {
	if len(entries) == 0 {
		return nil
	}
	last := slices.MaxFunc(entries, func(a, b *memstore.Entry) int { return a.Changed.Compare(b.Changed) })
	one := &memstore.Entry{
		ID: wholeSession, Kind: memstore.Summary, Seq: last.Seq, Made: last.Made, Changed: last.Changed,
	}
	var lines []string
	for _, goal := range memstore.Of(entries, memstore.Goal) {
		lines = append(lines, "Goal: "+oneLine(goal.Text, summaryText))
	}
	written := memstore.Of(entries, memstore.Summary)
	for _, s := range written {
		lines = append(lines, s.Text)
	}
	if len(written) == 0 {
		tasks, facts := memstore.Tasks(entries), memstore.Of(entries, memstore.Fact)
		for _, t := range tasks[max(0, len(tasks)-summaryTasks):] {
			lines = append(lines, marks[t.Status]+" "+oneLine(t.Text, summaryText))
		}
		for _, f := range facts[max(0, len(facts)-summaryFacts):] {
			lines = append(lines, "- "+oneLine(f.Text, summaryText))
		}
	}
	one.Text = strings.Join(lines, "\n")
	return []*memstore.Entry{one}
}
