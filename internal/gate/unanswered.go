package gate

import (
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// A handler that cannot know whether its effect happened says so with the kind in_doubt: a server died in the middle, a
// connection broke before the answer.
//
// # Law
//
// A call that leaves nothing behind is never in doubt: it can be made again, so it was unavailable. One with an effect
// that ends in doubt has a doubted record before its ended one: a person can look and resolve it, and its asker has
// been told, with what to look at. The kernel does not make it again.

// recordDoubt puts on record that a call with an effect ended in doubt. The record comes before the ended one: what is
// on disk of the two never says that the call simply failed.
func (w *recorder) recordDoubt(c *callState, end *journal.End) error {
	if end.Error != tool.InDoubt || c.stage < recordedBegun || c.tool.Runtime.Control ||
		c.how.retry != nil { // the doubt that it was made in the place of goes on
		return nil
	}
	r := c.record(journal.Doubted)
	r.End = &journal.End{Status: end.Status, Error: end.Error, Summary: end.Summary, Took: end.Took}
	r.Note = "it ended without an answer: " + end.Summary
	ask := w.askSection(c, journal.Allow, "")
	r.Doubt = &doubt.Facts{Begun: c.start.UTC(), Claims: ask.Claims, Workspace: ask.Workspace, AppFile: ask.AppFile}
	if err := w.journal.Append(r); err != nil {
		return err
	}
	told := c.record(journal.Told) // this very result says it
	told.Note = "told with its own result"
	return w.journal.Append(told)
}
