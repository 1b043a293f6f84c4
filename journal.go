package callgate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/tool"
)

// Journal is the append-only record of every call, each record linked to the one
// before by its hash.
type Journal struct{ k *kernel.Kernel }

// Record is one record. What its kind tells is in Body, as the journal writes it.
type Record struct {
	Seq, Epoch   uint64
	At           time.Time
	Kind         string // asked, answered, begun, ended, doubted, resolved, noted …
	Call, Parent string
	Name         string // of the tool, as it was asked for
	Tool         string // its identity
	Principal    *tool.Principal
	Note         string
	Body         json.RawMessage // the whole record
}

// JournalQuery selects records; the zero value is all.
type JournalQuery struct {
	After, Before uint64 // sequence numbers, both exclusive
	Call, Kind    string
	Newest        bool // with Limit: the last ones, still oldest first
	Limit         int
}

func (q JournalQuery) query() journal.Query {
	return journal.Query{
		After: q.After, Before: q.Before, Call: q.Call, Kind: journal.Kind(q.Kind), Newest: q.Newest, Limit: q.Limit,
	}
}

func recordOf(r journal.Record) (Record, error) {
	body, err := json.Marshal(r)
	return Record{
		Seq: r.Seq, Epoch: r.Epoch, At: r.Time, Kind: string(r.Kind), Call: r.Call, Parent: r.Parent,
		Name: r.Name, Tool: r.Tool, Principal: r.Principal, Note: r.Note, Body: body,
	}, err
}

func recordsOf(list []journal.Record, err error) ([]Record, error) {
	if err != nil {
		return nil, err
	}
	records := make([]Record, len(list))
	for i, r := range list {
		if records[i], err = recordOf(r); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// Read returns records, oldest first.
func (j Journal) Read(ctx context.Context, q JournalQuery) ([]Record, error) {
	if err := j.k.Journal.Flush(ctx); err != nil {
		return nil, err
	}
	return recordsOf(j.k.Journal.Read(ctx, q.query()))
}

// Follow yields the records after a sequence number, and then each as it comes.
func (j Journal) Follow(ctx context.Context, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range j.k.Journal.Follow(ctx, after) {
			record, bad := recordOf(r)
			if err == nil {
				err = bad
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// Verification is what a check of the journal found.
type Verification struct {
	Records, Epochs uint64
	Problems        []string // empty: the journal is whole
}

// Verify checks every link of the journal, and its anchor.
func (j Journal) Verify(ctx context.Context) (Verification, error) {
	report, err := j.k.Journal.Verify(ctx)
	v := Verification{Records: report.Records, Epochs: report.Epochs}
	for _, p := range report.Problems {
		v.Problems = append(v.Problems, fmt.Sprintf("record %d: %s", p.Seq, p.What))
	}
	return v, err
}

// Export writes records so that they can be verified elsewhere.
func (j Journal) Export(ctx context.Context, w io.Writer, q JournalQuery) error {
	return j.k.Journal.Export(ctx, w, q.query())
}

// Doubts returns the calls that began and whose end was never recorded.
func (j Journal) Doubts(ctx context.Context) ([]Record, error) {
	return recordsOf(j.k.Journal.Doubts(ctx))
}

// Resolve says what became of a call in doubt, and who says so.
func (j Journal) Resolve(ctx context.Context, call string, happened bool, by string) error {
	return j.k.Journal.Resolve(ctx, call, doubt.Resolution{Happened: happened, By: by})
}

// Pruned is what was removed.
type Pruned struct {
	Records   uint64
	Artifacts int
	Bytes     int64
}

// Prune removes the records of epochs that ended before a time, which leaves a
// signed summary, and the artifacts that nothing names any more.
func (j Journal) Prune(ctx context.Context, before time.Time) (Pruned, error) {
	records, artifacts, err := j.k.Prune(ctx, before)
	return Pruned{Records: records, Artifacts: artifacts.Count, Bytes: artifacts.Bytes}, err
}

// Artifacts are the large arguments and results, by their hash.
type Artifacts struct{ a *artifact.Store }

// Put stores data and returns its reference.
func (a Artifacts) Put(ctx context.Context, data []byte) (ref string, err error) {
	return a.a.Put(ctx, data)
}

// Get returns what a reference names, verified against its hash.
func (a Artifacts) Get(ctx context.Context, ref string) ([]byte, error) { return a.a.Get(ctx, ref) }
