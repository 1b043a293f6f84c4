package journal

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"callgate/internal/journal/anchor"
)

// maxProblems bounds a report; the rest are counted.
const maxProblems = 1000

// Problem is one place where the journal is not as its chain says.
type Problem struct {
	Seq  uint64 `json:"seq"` // the record, or the first missing one; 0: none in particular
	What string `json:"what"`
}

// Report is what verifying read, and what it found. Head is worth keeping
// elsewhere: a later chain must contain it.
type Report struct {
	First    uint64    `json:"first"` // the oldest record still kept
	Last     uint64    `json:"last"`
	Records  uint64    `json:"records"`
	Epochs   uint64    `json:"epochs"`
	Dropped  uint64    `json:"dropped"`            // records that pruning removed and signed for
	Gaps     uint64    `json:"gaps,omitempty"`     // of an export: places where records were left out
	Anchored bool      `json:"anchored,omitempty"` // an anchor was there to compare with
	Head     string    `json:"head"`               // hash of the last record
	Problems []Problem `json:"problems,omitempty"`
	More     int       `json:"more,omitempty"`    // problems beyond those listed
	Warning  string    `json:"warning,omitempty"` // of an export: what cannot be proven
}

// OK reports whether nothing was wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) problem(seq uint64, format string, args ...any) {
	if len(r.Problems) == maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{seq, fmt.Sprintf(format, args...)})
}

// Verify reads the whole journal again and reports whatever was changed,
// removed, moved or cut, while calls go on.
func (j *Journal) Verify(ctx context.Context) (Report, error) {
	j.pruning.RLock()
	defer j.pruning.RUnlock()
	return Verify(ctx, j.store, j.opts, nil)
}

// Verify does the same for a journal that nobody has open, and writes nothing.
// Of the options it needs the anchor and the key. Progress, unless nil, is
// called with the report so far after every thousand records.
func Verify(ctx context.Context, store Store, opts Options, progress func(Report)) (Report, error) {
	v := &verifier{next: 1}
	if err := v.prepare(ctx, store, opts); err != nil {
		return Report{}, wrap("journal.Verify", err, "the journal cannot be verified")
	}
	for row, err := range walk(ctx, store, Query{}) {
		if err != nil {
			return v.report, wrap("journal.Verify", err, "the journal cannot be read")
		}
		v.row(row)
		if progress != nil && v.report.Records%1000 == 0 {
			progress(v.report)
		}
	}
	v.finish()
	return v.report, nil
}

// verifier follows the chain from where it begins.
type verifier struct {
	report Report
	next   uint64 // the Seq that should come
	prev   Hash   // the hash that it should link to
	epoch  uint64 // the epoch of the row before; 0 before the first
	drops  []PruneSummary

	anchoring bool          // an anchor is kept
	anchor    *anchor.Point // what it says
	seen      Hash          // the hash of the row with the anchor's Seq
	preserved []anchor.Point
	cuts      map[anchor.Point]bool // the disagreements that opened records report
}

// prepare reads everything beside the rows, the anchor first: what it names
// must then be in the store.
func (v *verifier) prepare(ctx context.Context, store Store, opts Options) (err error) {
	v.cuts = make(map[anchor.Point]bool)
	if a := anchor.At(opts.Anchor); a.Kept() {
		v.anchoring = true
		if v.anchor, err = a.Read(); err != nil {
			return err
		}
		if v.preserved, err = a.Preserved(); err != nil {
			return err
		}
		v.report.Anchored = v.anchor != nil
	}
	if v.drops, err = store.Drops(ctx); err != nil || len(v.drops) == 0 {
		return err
	}
	private, err := opts.signingKey(false)
	if err != nil {
		return err
	}
	key := opts.Public
	if private != nil {
		key = private.Public().(ed25519.PublicKey)
	}
	for _, s := range v.drops {
		v.drop(s, key)
	}
	return nil
}

// drop checks one summary and moves the chain past what it stands for.
func (v *verifier) drop(s PruneSummary, key ed25519.PublicKey) {
	first, last := s.FirstSeq, s.LastSeq
	switch {
	case key == nil:
		v.report.problem(first, "records %d to %d were dropped, and there is no key to check the signature with", first, last)
	case !s.authentic(key):
		v.report.problem(first, "the summary of the dropped records %d to %d is not signed by this kernel's key", first, last)
	}
	switch {
	case first != v.next || last < first:
		v.report.problem(v.next, "a summary of dropped records goes from %d to %d, where it should begin at %d",
			first, last, v.next)
	case len(s.Head) != len(Hash{}) || string(s.Before) != string(v.prev[:]):
		v.report.problem(first, "the summary of the dropped records %d to %d does not link to what went before", first, last)
	}
	v.report.Dropped += s.LastSeq - s.FirstSeq + 1
	v.next = s.LastSeq + 1
	v.epoch = s.ToEpoch
	copy(v.prev[:], s.Head)
}

// row checks the next row.
func (v *verifier) row(row Row) {
	r := &v.report
	switch {
	case row.Seq == v.next+1:
		r.problem(v.next, "record %d is missing", v.next)
	case row.Seq > v.next:
		r.problem(v.next, "records %d to %d are missing", v.next, row.Seq-1)
	case row.Seq < v.next:
		r.problem(row.Seq, "record %d stands where %d should", row.Seq, v.next)
	}
	if what := check(v.prev, row); what != "" && row.Seq == v.next {
		r.problem(row.Seq, "%s", what)
	} else if row.Seq == v.next {
		v.epochOf(row)
	}
	if r.Records == 0 {
		r.First = row.Seq
	}
	if v.anchor != nil && row.Seq == v.anchor.Seq {
		v.seen = row.Hash
	}
	if row.Epoch != v.epoch || r.Records == 0 {
		r.Epochs++
	}
	r.Records++
	r.Last, r.Head = row.Seq, row.Hash.String()
	v.next, v.prev, v.epoch = row.Seq+1, row.Hash, row.Epoch
}

// epochOf checks that epochs follow each other, each with its opening, and takes
// note of a loss that an opening reports.
func (v *verifier) epochOf(row Row) {
	fresh := row.Epoch != v.epoch
	switch {
	case fresh && row.Kind != Opened:
		v.report.problem(row.Seq, "epoch %d begins without a record that opens it", row.Epoch)
	case !fresh && row.Kind == Opened, fresh && row.Epoch != v.epoch+1:
		v.report.problem(row.Seq, "epoch %d does not follow epoch %d", row.Epoch, v.epoch)
	}
	if row.Kind != Opened {
		return
	}
	rec, err := decode(row)
	if err != nil || rec.Opening == nil || rec.Opening.Cut == nil {
		return
	}
	cut := rec.Opening.Cut
	reported := anchor.Point{Seq: cut.Anchor}
	copy(reported.Hash[:], cut.Hash)
	v.cuts[reported] = true
	v.report.problem(row.Seq, "when the kernel started at %s, %s", rec.Time.Format(time.RFC3339), cut.describe())
}

// finish compares the end of the chain with the anchor.
func (v *verifier) finish() {
	r := &v.report
	for _, p := range v.preserved {
		if !v.cuts[p] {
			r.problem(p.Seq, "an anchor was preserved that had seen record %d, and no record mentions it", p.Seq)
		}
	}
	last := v.next - 1
	switch a := v.anchor; {
	case !v.anchoring:
	case a == nil && r.Records > 0:
		r.problem(0, "the anchor is missing or damaged: whether the tail was cut is not known")
	case a == nil:
	case *a == anchor.Point{} && (r.Records == 0 || r.First == 1): // it has seen the empty chain only
	case a.Seq > last:
		r.problem(last+1, "records were cut: the anchor has seen record %d, the store ends at %d", a.Seq, last)
	case a.Seq < r.First || r.Records == 0:
		n := len(v.drops)
		if n == 0 || v.drops[n-1].LastSeq != a.Seq || string(v.drops[n-1].Head) != string(a.Hash[:]) {
			r.problem(a.Seq, "the anchor names record %d, which is older than any kept: it is not this journal's", a.Seq)
		}
	case v.seen != a.Hash:
		r.problem(a.Seq, "record %d is not the one that the anchor has seen", a.Seq)
	}
}
