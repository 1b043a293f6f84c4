package journal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
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
// store. A Limit of 0 is no limit. The last line is a signed trailer, which says
// what the export holds.
func (j *Journal) Export(ctx context.Context, w io.Writer, q Query) error {
	const op = "journal.Export"
	key, err := j.opts.signingKey(j.opts.KeyFile != "")
	if err != nil {
		return err
	}
	_ = j.Flush(ctx) // a store that takes no writes may still be read
	rows := walk(ctx, j.store, q)
	if q.Newest {
		rows = newest(ctx, j.store, q)
	}
	out := bufio.NewWriter(w)
	count := newTally(q)
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
			return exportError(err)
		}
		count.add(row)
		last = row
	}
	trailer := count.finish(key)
	if _, err := out.Write(trailer.line()); err != nil {
		return exportError(err)
	}
	if err := out.Flush(); err != nil {
		return exportError(err)
	}
	return nil
}

func exportError(err error) error {
	return &tool.Error{Op: "journal.Export", Kind: tool.Unavailable, Message: "the export cannot be written", Err: err}
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
// removed. Places where the export's filter left records out are counted in Gaps;
// a gap that the filter does not explain is a problem, as is a trailer that is
// missing, not signed with the key, or does not fit the records.
func VerifyExport(r io.Reader, opts ExportOptions) (Report, error) {
	v := exportVerifier{digest: sha256.New()}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		v.line(n, lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return v.report, &tool.Error{
			Op: "journal.VerifyExport", Kind: tool.Invalid, Message: "the export cannot be read to its end", Err: err,
		}
	}
	v.checkTrailer(opts)
	return v.report, nil
}

// exportVerifier follows the lines of an export.
type exportVerifier struct {
	verifier
	digest  hash.Hash
	gaps    []gap // the first of them
	trailer *ExportTrailer
}

// gap is a run of records that an export does not hold.
type gap struct{ first, last uint64 }

func (g gap) describe() string {
	if g.first == g.last {
		return fmt.Sprintf("record %d is missing", g.first)
	}
	return fmt.Sprintf("records %d to %d are missing", g.first, g.last)
}

func (v *exportVerifier) line(n int, line []byte) {
	if v.trailer != nil {
		v.report.problem(v.next, "line %d stands after the trailer", n)
	}
	if t, ok := parseTrailer(line); ok {
		v.trailer = t
		return
	}
	row, prev, err := parseLine(line)
	if err != nil {
		v.report.problem(v.next, "line %d %v", n, err)
		return
	}
	v.row(row, prev)
}

// row checks a row of an export: it links to what its line says, and
// that is the row before it when that is there.
func (v *exportVerifier) row(row Row, prev Hash) {
	r := &v.report
	switch {
	case r.Records == 0:
		r.First = row.Seq
	case row.Seq < v.next:
		r.problem(row.Seq, "record %d stands after %d", row.Seq, v.next-1)
	case row.Seq > v.next:
		if r.Gaps++; len(v.gaps) < maxProblems {
			v.gaps = append(v.gaps, gap{v.next, row.Seq - 1})
		}
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
	v.digest.Write(row.Hash[:])
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
