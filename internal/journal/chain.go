package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"callgate/tool"
)

// link is the hash of a body that follows prev.
func link(prev Hash, body []byte) Hash {
	var buffer [1024]byte // most records fit, and then nothing is allocated
	return sha256.Sum256(append(append(buffer[:0], prev[:]...), body...))
}

// check says what is wrong with a row that should follow prev; "" when nothing is.
func check(prev Hash, row Row) string {
	if link(prev, row.Body) != row.Hash {
		return "the record, its hash or the hash before it was changed"
	}
	var body struct {
		Seq   uint64 `json:"seq"`
		Epoch uint64 `json:"epoch"`
		Kind  Kind   `json:"kind"`
		Call  string `json:"call"`
	}
	if err := json.Unmarshal(row.Body, &body); err != nil {
		return "the record is not readable: " + err.Error()
	}
	switch {
	case body.Seq != row.Seq:
		return fmt.Sprintf("the record says that its number is %d", body.Seq)
	case body.Epoch != row.Epoch:
		return fmt.Sprintf("the record says epoch %d, the store says %d", body.Epoch, row.Epoch)
	case body.Kind != row.Kind:
		return fmt.Sprintf("the record says kind %q, the store says %q", body.Kind, row.Kind)
	case body.Call != row.Call:
		return fmt.Sprintf("the record says call %q, the store says %q", body.Call, row.Call)
	}
	return ""
}

// decode reads a row's record.
func decode(row Row) (Record, error) {
	var rec Record
	if err := json.Unmarshal(row.Body, &rec); err != nil {
		return Record{}, &tool.Error{
			Op: "journal.Read", Kind: tool.Internal, Message: fmt.Sprintf("record %d cannot be read", row.Seq),
			Hint: "run callgate log verify", Err: err,
		}
	}
	return rec, nil
}

// encode fills w.rows with the batch's records, opening an epoch where one is
// due, and returns the head they would make.
func (w *writer) encode(b batch) head {
	next := w.head
	clear(w.rows)
	w.rows = w.rows[:0]
	for i := range b.entries {
		e := &b.entries[i]
		if e.mark {
			continue
		}
		if rec, due := w.opening(next, e.rec.Time, b); due {
			next.epoch++
			next.open, next.since, next.opened, next.count = true, rec.Opening.Since, rec.Time, 0
			w.addRow(&next, &rec)
		}
		w.addRow(&next, &e.rec)
	}
	return next
}

// addRow numbers a record, and adds its row.
func (w *writer) addRow(next *head, rec *Record) {
	next.seq++
	next.count++
	rec.Seq, rec.Epoch = next.seq, next.epoch
	body := marshal(rec)
	next.hash = link(next.hash, body)
	w.rows = append(w.rows, Row{
		Seq: rec.Seq, Epoch: rec.Epoch, Kind: rec.Kind, Call: rec.Call, Body: body, Hash: next.hash,
	})
}

// opening returns the record that opens an epoch, when one is due before a
// record of that time.
func (w *writer) opening(next head, now time.Time, b batch) (Record, bool) {
	o := &Opening{Kernel: w.opts.Kernel, Since: next.since}
	rec := Record{Kind: Opened, Time: now, Opening: o}
	switch {
	case !next.open:
		o.Start, o.Cut, rec.Note = true, w.cut, w.cut.describe()
		if b.recovered && b.whole() || next.seq == 0 {
			o.Since = next.seq + 1 // every doubt of earlier starts is settled in this very transaction
		}
		return rec, true
	case next.count >= w.opts.MaxEpochRecords, now.Sub(next.opened) >= w.opts.MaxEpochAge:
		if next.since > w.firstSeq {
			o.Since = w.oldest(next.seq + 1)
		}
		return rec, true
	}
	return Record{}, false
}

// oldest returns where the oldest call of this start began that may not have
// ended before seq: no later than any record that is still being written.
func (w *writer) oldest(seq uint64) uint64 {
	oldest := min(seq, w.head.seq+1)
	for _, begun := range w.begun {
		oldest = min(oldest, begun)
	}
	return oldest
}

// describe says in words what was lost; "" for nothing.
func (c *Truncation) describe() string {
	switch {
	case c == nil:
		return ""
	case c.Anchor == 0:
		return fmt.Sprintf("the anchor was missing while the store held records up to %d", c.Head)
	case c.Anchor > c.Head:
		return fmt.Sprintf("records were cut: the anchor had seen record %d, the store ended at %d", c.Anchor, c.Head)
	default:
		return fmt.Sprintf("records were replaced: record %d is not the one that the anchor had seen", c.Anchor)
	}
}

// marshal writes a record's body. A part that JSON cannot carry is left out,
// and the note says so: a record is never lost for its form.
func marshal(rec *Record) []byte {
	var b bytes.Buffer
	err := encodeTo(&b, rec)
	if err != nil {
		bare := Record{
			Seq: rec.Seq, Epoch: rec.Epoch, Time: rec.Time, Kind: rec.Kind, Call: rec.Call, Parent: rec.Parent,
			Principal: rec.Principal, Name: rec.Name, Tool: rec.Tool, End: rec.End,
			Note: fmt.Sprintf("parts of this record could not be written (%v); %s", err, rec.Note),
		}
		b.Reset()
		if err := encodeTo(&b, &bare); err != nil {
			panic(fmt.Sprintf("journal: plain text does not encode: %v", err)) // strings and numbers always do
		}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func encodeTo(b *bytes.Buffer, rec *Record) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(rec)
}
