package witness

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"callgate/internal/journal"
)

// Check compares a chain with what was seen of it: what is wrong, in words, at which record. Only rows that are still
// kept can be compared; what was dropped since is for the signature of its summary to prove.
func (s Seen) Check(ctx context.Context, store journal.Store) (problems []journal.Problem, err error) {
	add := func(what string) { problems = append(problems, journal.Problem{Seq: s.Seq, What: what}) }
	number := "record " + strconv.FormatUint(s.Seq, 10)
	when := s.At.UTC().Format(time.RFC3339)
	if c := s.Conflict; c != nil && !bytes.Equal(c.Key, s.Key) {
		add("the head of the journal was told signed with another key than the one that it had first")
	} else if c != nil {
		add("two heads were told and signed for one record: there were two chains")
	}
	if s.Seq == 0 {
		return problems, nil // it has seen the empty chain
	}
	rows, err := store.Rows(ctx, journal.Query{After: s.Seq - 1, Before: s.Seq + 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		if !bytes.Equal(rows[0].Hash[:], s.Hash) {
			add(number + " is not the one that was seen here at " + when + ": the chain was replaced")
		}
		return problems, nil
	}
	drops, err := store.Drops(ctx)
	if err != nil {
		return nil, err
	}
	dropped := false
	for _, d := range drops {
		if d.LastSeq == s.Seq && !bytes.Equal(d.Head, s.Hash) {
			add(number + " was dropped, and is not the one that was seen here at " + when)
		}
		dropped = dropped || d.LastSeq >= s.Seq
	}
	if !dropped {
		add("records were cut: " + number + " was seen here at " + when + ", and is not there")
	}
	return problems, nil
}
