package recovery

import (
	"context"
	"fmt"
	"slices"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
)

// doubtKinds are the kinds of records that a doubt is made of.
var doubtKinds = []journal.Kind{journal.Doubted, journal.Judged, journal.Told, journal.Resolved}

// openDoubt is an open doubt: its record, and how far it has come. Zero: there is none.
type openDoubt struct {
	seq   uint64
	state doubt.State
}

// after is the doubt after one more record of its call.
func (d openDoubt) after(r journal.Record) openDoubt {
	switch {
	case r.Kind == journal.Doubted:
		return openDoubt{r.Seq, doubt.New}
	case r.Kind == journal.Resolved:
		return openDoubt{}
	case r.Kind == journal.Judged && d.state == doubt.New:
		return openDoubt{d.seq, doubt.Judged}
	case r.Kind == journal.Told && d.seq > 0:
		return openDoubt{d.seq, doubt.Told}
	}
	return d
}

// VerifyDoubts compares the list of open doubts, which the store keeps beside the
// records and no chain protects, with the records themselves: a call that it hides
// would be told to nobody, and could be pruned. It goes on while calls are made.
func VerifyDoubts(ctx context.Context, j *journal.Journal) ([]journal.Problem, error) {
	var problems []journal.Problem
	listed := map[string]openDoubt{}
	for q := (doubt.Query{}); ; {
		page, err := j.OpenDoubts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			q.After = d.Seq
			if d.Kind == journal.Doubted && d.Call != "" {
				listed[d.Call] = openDoubt{d.Seq, d.State}
				continue
			}
			problems = append(problems, journal.Problem{
				Seq: d.Seq, What: fmt.Sprintf("the list of open doubts names record %d, which puts no call in doubt", d.Seq),
			})
		}
		if len(page) < journal.MaxRows {
			break
		}
	}
	onRecord, err := doubtsOnRecord(ctx, j)
	if err != nil {
		return nil, err
	}
	var suspects []string
	for call, d := range onRecord {
		if listed[call] != d {
			suspects = append(suspects, call)
		}
	}
	for call := range listed {
		if _, known := onRecord[call]; !known {
			suspects = append(suspects, call)
		}
	}
	slices.Sort(suspects)
	for _, call := range suspects {
		p, err := verifyDoubt(ctx, j, call)
		if err != nil {
			return nil, err
		}
		problems = append(problems, p...)
	}
	return problems, nil
}

// doubtsOnRecord are the doubts by the records alone, those that were resolved as zero.
func doubtsOnRecord(ctx context.Context, j *journal.Journal) (map[string]openDoubt, error) {
	var all []journal.Record
	for _, kind := range doubtKinds {
		for q := (journal.Query{Kind: kind}); ; {
			page, err := j.Read(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, r := range page {
				all = append(all, journal.Record{Seq: r.Seq, Kind: r.Kind, Call: r.Call})
				q.After = r.Seq
			}
			if len(page) < journal.MaxRows {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b journal.Record) int { return int(int64(a.Seq) - int64(b.Seq)) })
	doubts := map[string]openDoubt{}
	for _, r := range all {
		doubts[r.Call] = doubts[r.Call].after(r)
	}
	return doubts, nil
}

// verifyDoubt looks again at one call, since the journal may have gone on meanwhile:
// what is listed counts only if it is the same before and after.
func verifyDoubt(ctx context.Context, j *journal.Journal, call string) ([]journal.Problem, error) {
	const tries = 3
	for range tries {
		before, _, err := j.DoubtOf(ctx, call)
		if err != nil {
			return nil, err
		}
		var onRecord openDoubt
		records, err := j.Read(ctx, journal.Query{Call: call})
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			onRecord = onRecord.after(r)
		}
		after, _, err := j.DoubtOf(ctx, call)
		if err != nil {
			return nil, err
		}
		if listed := (openDoubt{after.Seq, after.State}); listed == (openDoubt{before.Seq, before.State}) {
			return differ(call, onRecord, listed), nil
		}
	}
	return nil, nil
}

// differ says how what is listed of a call differs from its records.
func differ(call string, onRecord, listed openDoubt) []journal.Problem {
	what, seq := "", max(onRecord.seq, listed.seq)
	switch {
	case onRecord == listed:
		return nil
	case listed.seq == 0:
		what = fmt.Sprintf("call %s is in doubt by its records, and the list of open doubts hides it", call)
	case onRecord.seq == 0:
		what = fmt.Sprintf("call %s is in the list of open doubts, and is not in doubt by its records", call)
	default:
		what = fmt.Sprintf("call %s is in doubt, %s by its records, and %s in the list of open doubts", call,
			onRecord.state, listed.state)
	}
	return []journal.Problem{{Seq: seq, What: what}}
}
