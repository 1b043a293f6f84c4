package summarizing

import (
	"time"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/llmtool"
	"callgate/tool"
)

// Record puts on record what was asked of models for a definition of the kernel's own.
type Record func(by tool.Principal, d llmtool.Definition, took time.Duration, r *tool.Result)

// Journal is where records go. *journal.Journal is one.
type Journal interface {
	Append(rec journal.Record) error
}

// Recorder records in a journal, as the ends of calls of the kernel's own: they have the attempts that those of
// LLM-backed tools have. scrub takes secrets out of a text.
func Recorder(to Journal, scrub func(string) string) Record {
	return func(by tool.Principal, d llmtool.Definition, took time.Duration, r *tool.Result) {
		if r == nil || len(r.Attempts) == 0 {
			return // nothing was asked
		}
		by.Daemon = true
		end := &journal.End{Status: r.Status, Summary: tool.TruncateTo(scrub(r.Summary), 500), Took: took}
		if r.Error != nil {
			end.Error = r.Error.Kind
		}
		for _, a := range r.Attempts {
			a.Error = scrub(a.Error)
			end.Attempts = append(end.Attempts, a)
		}
		id, _ := tool.TryParseID(d.ID)
		// The requests are made and paid for; a journal that takes nothing says so by itself.
		_ = to.Append(journal.Record{
			Kind: journal.Ended, Call: gate.NewID(), Principal: &by, Name: id.Dotted(), Tool: d.ID,
			Ask: &journal.Ask{Verdict: journal.Allow, Reason: "compaction of a conversation"}, End: end,
		})
	}
}
