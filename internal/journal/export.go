package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"callgate/tool"
)

// maxLine bounds one line of an export that is read back.
const maxLine = 64 << 20

// exported is one line of an export. Body holds the record byte for byte. A
// body that somebody changed, and that is not JSON in one line, is in Raw.
type exported struct {
	Hash string          `json:"hash"`
	Prev string          `json:"prev,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
	Raw  []byte          `json:"raw,omitempty"`
}

// append writes the line. The body is copied, never encoded again: the hash is
// over these very bytes.
func (x *exported) append(line []byte) []byte {
	line = fmt.Appendf(line, `{"hash":%q,"prev":%q,`, x.Hash, x.Prev)
	if x.Raw != nil {
		raw, _ := json.Marshal(x.Raw) // a []byte always encodes
		line = append(append(line, `"raw":`...), raw...)
	} else {
		line = append(append(line, `"body":`...), x.Body...)
	}
	return append(line, "}\n"...)
}

// Export writes the records that match q as JSON lines, each with its hash and
// the hash that it links to, so that VerifyExport can prove them without the
// store. A Limit of 0 is no limit.
func (j *Journal) Export(ctx context.Context, w io.Writer, q Query) error {
	const op = "journal.Export"
	if j.queue.waiting() {
		_ = j.Flush(ctx) // as in Read
	}
	rows := walk(ctx, j.store, q)
	if q.Newest {
		rows = newest(ctx, j.store, q)
	}
	out := bufio.NewWriter(w)
	var line []byte
	var last Row
	for row, err := range rows {
		if err != nil {
			return wrap(op, err, "the journal cannot be read")
		}
		prev := last.Hash
		if last.Seq == 0 || row.Seq != last.Seq+1 {
			if prev, err = j.before(ctx, row.Seq); err != nil {
				return wrap(op, err, "the journal cannot be read")
			}
		}
		x := exported{Hash: row.Hash.String(), Prev: prev.String(), Body: row.Body}
		if !json.Valid(row.Body) || bytes.ContainsAny(row.Body, "\r\n") {
			x.Body, x.Raw = nil, append([]byte{}, row.Body...)
		}
		line = x.append(line[:0])
		if _, err := out.Write(line); err != nil {
			return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the export cannot be written", Err: err}
		}
		last = row
	}
	if err := out.Flush(); err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the export cannot be written", Err: err}
	}
	return nil
}

// before returns the hash that a record should link to.
func (j *Journal) before(ctx context.Context, seq uint64) (Hash, error) {
	if seq <= 1 {
		return Hash{}, nil
	}
	rows, err := j.store.Rows(ctx, Query{After: seq - 2, Before: seq})
	if err != nil {
		return Hash{}, err
	}
	if len(rows) == 1 {
		return rows[0].Hash, nil
	}
	drops, err := j.store.Drops(ctx)
	if err != nil {
		return Hash{}, err
	}
	var hash Hash // zero when the record before is missing, which verifying reports
	for _, s := range drops {
		if s.LastSeq == seq-1 {
			copy(hash[:], s.Head)
		}
	}
	return hash, nil
}

// VerifyExport reads an export back and reports what was changed, moved or
// removed from between. Places where records were left out, as a filter does,
// are counted in Gaps. Whether there should be any, and whether the last line is
// the last record, an export cannot show.
func VerifyExport(r io.Reader) (Report, error) {
	var v verifier
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		row, prev, err := parseLine(lines.Bytes())
		if err != nil {
			v.report.problem(v.next, "line %d %v", n, err)
			continue
		}
		v.exportRow(row, prev)
	}
	if err := lines.Err(); err != nil {
		return v.report, &tool.Error{
			Op: "journal.VerifyExport", Kind: tool.Invalid, Message: "the export cannot be read to its end", Err: err,
		}
	}
	return v.report, nil
}

// exportRow checks a row of an export: it links to what its line says, and
// that is the row before it when that is there.
func (v *verifier) exportRow(row Row, prev Hash) {
	r := &v.report
	switch {
	case r.Records == 0:
		r.First = row.Seq
	case row.Seq < v.next:
		r.problem(row.Seq, "record %d stands after %d", row.Seq, v.next-1)
	case row.Seq > v.next:
		r.Gaps++
	case prev != v.prev:
		r.problem(row.Seq, "record %d does not link to the one before it", row.Seq)
	}
	if what := check(prev, row); what != "" {
		r.problem(row.Seq, "%s", what)
	}
	if r.Records == 0 || row.Epoch != v.epoch {
		r.Epochs++
	}
	r.Records++
	r.Last, r.Head = row.Seq, row.Hash.String()
	v.next, v.prev, v.epoch = row.Seq+1, row.Hash, row.Epoch
}

// parseLine reads one line of an export. It takes only what Export writes, to
// the byte, so that a change anywhere in a line shows.
func parseLine(line []byte) (row Row, prev Hash, err error) {
	var x exported
	if err := json.Unmarshal(line, &x); err != nil {
		return Row{}, Hash{}, errors.New("is not a record of an export")
	}
	if again := x.append(nil); !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), line) {
		return Row{}, Hash{}, errors.New("is not as an export writes it")
	}
	row.Body = x.Body
	if x.Raw != nil {
		row.Body = x.Raw
	}
	var ok [2]bool
	row.Hash, ok[0] = parseHash(x.Hash)
	prev, ok[1] = parseHash(x.Prev)
	if !ok[0] || !ok[1] {
		return Row{}, Hash{}, errors.New("has a hash that is not 64 hex digits")
	}
	var rec Record
	if err := json.Unmarshal(row.Body, &rec); err != nil {
		return Row{}, Hash{}, errors.New("holds a record that cannot be read")
	}
	row.Seq, row.Epoch, row.Kind, row.Call = rec.Seq, rec.Epoch, rec.Kind, rec.Call
	return row, prev, nil
}

// parseHash reads what Hash.String writes.
func parseHash(text string) (h Hash, ok bool) {
	raw, err := hex.DecodeString(text)
	copy(h[:], raw)
	return h, err == nil && h.String() == text
}
