package callcount_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/observe/callcount"
	"callgate/tool"
)

// records is a journal in memory.
type records struct {
	list   []journal.Record
	broken error
	reads  int
}

func (r *records) add(rec journal.Record) {
	rec.Seq = uint64(len(r.list) + 1)
	r.list = append(r.list, rec)
}

func (r *records) Progress() (uint64, int) { return uint64(len(r.list)), 0 }

func (r *records) Read(_ context.Context, q journal.Query) ([]journal.Record, error) {
	r.reads++
	if r.broken != nil {
		return nil, r.broken
	}
	rest := r.list[q.After:]
	return rest[:min(len(rest), q.Limit)], nil
}

var now = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

func ended(id string, s tool.Status, took time.Duration) journal.Record {
	return journal.Record{Kind: journal.Ended, Tool: id, Time: now, End: &journal.End{Status: s, Took: took}}
}

func TestCounts(t *testing.T) {
	const read, write = "filesystem:read@1.0.0", "choir.fs:write@1.0.0"
	j := &records{}
	j.add(ended(read, tool.Success, time.Second)) // before the counter was made
	c := callcount.New(j, clock)
	j.add(ended(read, tool.Success, time.Millisecond))
	failed := ended(read, tool.Failure, 2*time.Second)
	failed.End.Error = tool.Timeout
	j.add(failed)
	j.add(journal.Record{Kind: journal.Asked, Tool: write, Time: now.Add(-2 * time.Minute),
		Ask: &journal.Ask{Verdict: journal.Refuse, Error: tool.Denied}})
	j.add(journal.Record{Kind: journal.Asked, Name: "no\nsuch", Time: now,
		Ask: &journal.Ask{Verdict: journal.Refuse, Error: tool.NotFound}})
	j.add(journal.Record{Kind: journal.Asked, Tool: write, Time: now, Ask: &journal.Ask{Verdict: journal.Wait}})
	j.add(journal.Record{Kind: journal.Answered, Tool: write, Answer: &journal.Answer{Verdict: "approved"}})
	j.add(journal.Record{Kind: journal.Begun, Call: "c1", Tool: write, Time: now})
	j.add(journal.Record{Kind: journal.Begun, Call: "c2", Tool: write, Time: now})
	j.add(journal.Record{Kind: journal.Doubted, Call: "c2", Tool: write, Time: now})
	got, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tally := got.Tools["filesystem.read"]; tally.Calls() != 2 || tally.Failed() != 1 || tally.Took.Count != 2 {
		t.Errorf("filesystem.read: %+v", tally)
	}
	if tally := got.Modules["choir.fs"]; tally.Calls() != 1 || tally.Refused() != 1 || tally.Took.Count != 0 {
		t.Errorf("choir.fs: %+v", tally)
	}
	if got.Tools[callcount.Unknown].Calls() != 1 {
		t.Errorf("a name that means no tool: %v", got.Tools)
	}
	if got.Errors["timeout"] != 1 || got.Refusals["denied"] != 1 || got.Refusals["not_found"] != 1 ||
		got.Answers["approved"] != 1 {
		t.Errorf("%v %v %v", got.Errors, got.Refusals, got.Answers)
	}
	if len(got.Running) != 1 || got.Running[0].Call != "c1" || got.Running[0].Tool != "choir.fs.write" {
		t.Errorf("running: %+v", got.Running)
	}
	if got.Minute != 3 || got.Records != 9 {
		t.Errorf("%d in the last minute, %d records", got.Minute, got.Records)
	}
	one := ended(write, tool.Success, time.Second)
	one.Call = "c1"
	j.add(one)
	if got, _ := c.Counts(t.Context()); len(got.Running) != 0 {
		t.Errorf("still running: %+v", got.Running)
	}
}

// Whatever names come, what is kept stays bounded.
func TestCardinality(t *testing.T) {
	j := &records{}
	c := callcount.New(j, clock)
	for n := range 20_000 {
		j.add(ended(fmt.Sprintf("m%d:tool%d@1.0.0", n, n), tool.Success, time.Millisecond))
		j.add(journal.Record{Kind: journal.Asked, Name: fmt.Sprint("hostile", n), Tool: fmt.Sprintf("\"}%d", n),
			Ask: &journal.Ask{Verdict: journal.Refuse, Error: tool.NotFound}})
		j.add(journal.Record{Kind: journal.Begun, Call: fmt.Sprint("c", n), Tool: "a:b@1.0.0"})
	}
	got, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) > callcount.MaxTools+1 || len(got.Modules) > 65 || len(got.Running) > 1024 {
		t.Errorf("%d tools, %d modules, %d running", len(got.Tools), len(got.Modules), len(got.Running))
	}
	var calls uint64
	for _, tally := range got.Tools {
		calls += tally.Calls()
	}
	if calls != 40_000 || got.Tools[callcount.Unknown].Calls() != 20_000 {
		t.Errorf("%d calls of 40,000", calls)
	}
}

// Nothing is read before somebody asks, and a journal that cannot be read is read later.
func TestReadsWhenAsked(t *testing.T) {
	j := &records{}
	c := callcount.New(j, clock)
	j.add(ended("a:b@1.0.0", tool.Success, time.Millisecond))
	if j.reads != 0 {
		t.Errorf("%d reads before anybody asked", j.reads)
	}
	j.broken = errors.New("disk")
	if got, err := c.Counts(t.Context()); err == nil || got.Records != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	j.broken = nil
	if got, err := c.Counts(t.Context()); err != nil || got.Records != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
