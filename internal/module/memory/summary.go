package memory

import (
	"slices"
	"strings"

	"callgate/internal/module/memory/memstore"
)

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
