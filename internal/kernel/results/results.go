// Package results reads back what was kept of earlier results. Law: a session reads
// what its own calls were shown a part of, and nothing else: not what was withheld from
// it, not the results of another session, and none of a tool that it does not have. What
// is secret now is not in what it reads, wherever the text is cut.
package results

import (
	"context"
	"slices"
	"unicode/utf8"

	"callgate/internal/artifact"
	"callgate/internal/journal"
	"callgate/internal/kernel/session"
	"callgate/internal/secret"
	"callgate/tool"
)

const op = "artifact.read"

// Reader reads results back. All fields are required.
type Reader struct {
	Journal   *journal.Journal
	Artifacts *artifact.Store
	Secrets   *secret.Vault
	Sessions  *session.Table
	// Events returns the body of an event that a conversation was told of, by the event's
	// ID; nil for another.
	Events func(ctx context.Context, conversation, id string) ([]byte, error)
}

// Read returns the text that is kept of the result of a call, by the call's ID or by
// the name of the artifact.
func (r *Reader) Read(ctx context.Context, call tool.Call, ref string) (string, error) {
	s, err := r.Sessions.Get(call.Principal.Session)
	if err != nil {
		return "", err
	}
	if body, err := r.Events(ctx, s.ID(), ref); err != nil || body != nil {
		return s.Caller().Mask(r.Secrets.ScrubPayloadString(string(body))), err
	}
	rec, err := r.find(ctx, call.Principal, ref)
	if err != nil {
		return "", err
	}
	if rec == nil {
		return "", tool.Errorf(op, tool.NotFound, "nothing of yours is kept under %q", tool.Truncate(ref)).
			WithHint("give the ref as the last line of the cut result has it, or make that call again")
	}
	if _, err := s.View().Tool(ctx, rec.Tool); err != nil {
		return "", tool.Errorf(op, tool.Denied, "it is a result of %s, which is not among your tools now", rec.Tool)
	}
	data, err := r.Artifacts.Get(ctx, rec.End.ArtifactRef)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) {
		return "", tool.Errorf(op, tool.Invalid, "it is no text, but %d bytes of something else", len(data)).
			WithHint("a person reads it with callgate artifacts get %s", rec.End.ArtifactRef)
	}
	return s.Caller().Mask(r.Secrets.ScrubPayloadString(string(data))), nil
}

// searched is how many of the newest records are searched for the name of an artifact.
const searched = 5000

// find returns the end of the call that a reader means; nil if there is none.
func (r *Reader) find(ctx context.Context, who tool.Principal, ref string) (*journal.Record, error) {
	if err := r.Journal.Flush(ctx); err != nil { // reads are recorded behind
		return nil, err
	}
	query := journal.Query{Call: ref, Kind: journal.Ended}
	byName := artifact.Check(ref) == nil
	if byName {
		query = journal.Query{Kind: journal.Ended, Newest: true, Limit: searched}
	}
	records, err := r.Journal.Read(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, rec := range slices.Backward(records) {
		if rec.End == nil || !rec.End.Readable || rec.Principal == nil || byName && rec.End.ArtifactRef != ref {
			continue
		}
		if p := rec.Principal; p.Session == who.Session && p.User == who.User && p.App == who.App && p.Lane == who.Lane {
			return &rec, nil
		}
	}
	return nil, nil
}
