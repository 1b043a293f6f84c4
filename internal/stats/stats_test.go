package stats_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/secret"
	"callgate/internal/stats"
	"callgate/tool"
)

// records is a journal in memory.
type records []journal.Record

// Read returns the last records that match, in ascending order.
func (r records) Read(_ context.Context, q journal.Query) ([]journal.Record, error) {
	end := len(r)
	if q.Before > 0 {
		end = int(q.Before) - 1
	}
	return r[max(0, end-q.Limit):end], nil
}

// add adds a record of a session.
func (r *records) add(session string, one journal.Record) {
	one.Seq = uint64(len(*r) + 1)
	one.Time = time.Unix(int64(one.Seq), 0)
	one.Principal = &tool.Principal{Session: session}
	*r = append(*r, one)
}

func asked(v journal.Verdict, reason string) journal.Record {
	return journal.Record{Kind: journal.Asked, Ask: &journal.Ask{Verdict: v, Reason: reason}}
}

func ended(status tool.Status, kind tool.Kind) journal.Record {
	return journal.Record{Kind: journal.Ended, End: &journal.End{Status: status, Error: kind}}
}

func answered(verdict, by string) journal.Record {
	return journal.Record{Kind: journal.Answered, Answer: &journal.Answer{Verdict: verdict, By: by}}
}

func TestCollect(t *testing.T) {
	var all records
	all.add("a", asked(journal.Refuse, "there is no tool raed"))
	all.add("b", ended(tool.Success, "")) // of another session
	all.add("a", ended(tool.Success, ""))
	all.add("a", ended(tool.Failure, tool.Invalid))
	all.add("a", asked(journal.Refuse, "denied"))
	all.add("a", asked(journal.Allow, "grant g1: bash(go test)"))
	all.add("a", asked(journal.Allow, "allowed for this session: bash"))
	all.add("a", asked(journal.Allow, "policy auto"))
	edited := answered("approved", "ada")
	edited.Answer.Args = []byte(`{}`)
	all.add("a", edited)
	all.add("a", answered("approved", "ada"))
	all.add("a", answered("approved", "allowed for this session: bash"))
	all.add("a", answered("denied", "ada"))
	all.add("a", answered("expired", ""))
	scrubbed := ended(tool.Success, "")
	scrubbed.End.Warnings = []string{secret.TakenOut}
	scrubbed.Ask = &journal.Ask{Verdict: journal.Allow, Coercions: []string{`path: 1 became "1"`}}
	scrubbed.End.ArtifactRef, scrubbed.End.Readable = "sha256:1", true
	all.add("b", scrubbed)
	all.add("b", journal.Record{Kind: journal.Doubted})
	bench := ended(tool.Success, "")
	bench.Bench = true
	all.add("b", bench)
	got, err := stats.Collect(t.Context(), all, time.Time{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := stats.Stats{
		Records: 16, From: time.Unix(1, 0), Calls: 4, Succeeded: 3, Refused: 2, Coerced: 1, PutRight: 1, Approved: 2, Edited: 1,
		Denied: 1, Expired: 1, Granted: 1, Allowed: 2, Scrubbed: 1, Cut: 1, Doubted: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// What is older than the time does not count, and what is more than the limit is said to be missing.
func TestBounds(t *testing.T) {
	var all records
	for range 5000 {
		all.add("a", ended(tool.Success, ""))
	}
	for _, c := range []struct {
		since   int64
		limit   int
		calls   int
		partial bool
	}{{0, 0, 5000, false}, {4901, 0, 100, false}, {0, 3000, 3000, true}, {4901, 3000, 100, false}, {0, 5000, 5000, false}} {
		got, err := stats.Collect(t.Context(), all, time.Unix(c.since, 0), c.limit)
		if err != nil || got.Calls != c.calls || got.Partial != c.partial {
			t.Errorf("since %d, at most %d: %+v, %v", c.since, c.limit, got, err)
		}
	}
}
