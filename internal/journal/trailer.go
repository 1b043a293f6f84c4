package journal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"time"
)

// NoTrailer says what is wrong with an export that has no trailer. Exports made
// before there were trailers have none.
const NoTrailer = "without a trailer: its completeness cannot be proven"

// ExportTrailer is the last line of an export. It says what the export holds, so
// that an export from which lines were taken shows. Signature covers every other
// field.
type ExportTrailer struct {
	First     uint64       `json:"first"` // the first record in the export; 0: it has none
	Last      uint64       `json:"last"`
	Records   uint64       `json:"records"`
	Head      string       `json:"head"`   // hash of the last record
	Digest    string       `json:"digest"` // SHA-256 over the hashes of all records in the export
	Filter    ExportFilter `json:"filter"`
	At        time.Time    `json:"at"`
	Key       []byte       `json:"key"` // public key of the journal that signed; nil: it has no key
	Signature []byte       `json:"signature"`
}

// ExportFilter is the query that an export answers.
type ExportFilter struct {
	After  uint64 `json:"after,omitempty"`
	Before uint64 `json:"before,omitempty"`
	Call   string `json:"call,omitempty"`
	Within string `json:"within,omitempty"`
	Kind   Kind   `json:"kind,omitempty"`
	Newest bool   `json:"newest,omitempty"`
	Stored bool   `json:"-"` // it always waits
	Limit  int    `json:"limit,omitempty"`
}

// leavesGaps reports whether the filter leaves out records between others.
func (f ExportFilter) leavesGaps() bool { return f.Call+f.Within != "" || f.Kind != "" }

// trailerLine is the trailer as a line of the export.
type trailerLine struct {
	Trailer *ExportTrailer `json:"trailer"`
}

func (t *ExportTrailer) line() []byte {
	line, err := json.Marshal(trailerLine{t})
	if err != nil {
		return nil // a time outside of what JSON can write
	}
	return append(line, '\n')
}

// signed is what the signature covers.
func (t ExportTrailer) signed() []byte {
	t.Signature = nil
	return append([]byte("callgate journal export\n"), t.line()...)
}

func (t *ExportTrailer) sign(key ed25519.PrivateKey) {
	t.Key = key.Public().(ed25519.PublicKey)
	t.Signature = ed25519.Sign(key, t.signed())
}

// parseTrailer reads a line that Export wrote as a trailer, to the byte.
func parseTrailer(line []byte) (*ExportTrailer, bool) {
	var x trailerLine
	if !bytes.HasPrefix(line, []byte(`{"trailer":`)) || json.Unmarshal(line, &x) != nil || x.Trailer == nil {
		return nil, false
	}
	return x.Trailer, bytes.Equal(bytes.TrimSuffix(x.Trailer.line(), []byte("\n")), line)
}

// tally counts the records of an export as it is written.
type tally struct {
	trailer ExportTrailer
	digest  hash.Hash
}

func newTally(q Query) *tally {
	return &tally{ExportTrailer{Filter: ExportFilter(q)}, sha256.New()}
}

func (t *tally) add(row Row) {
	if t.trailer.Records == 0 {
		t.trailer.First = row.Seq
	}
	t.trailer.Records++
	t.trailer.Last, t.trailer.Head = row.Seq, row.Hash.String()
	t.digest.Write(row.Hash[:])
}

// finish returns the trailer, signed when there is a key.
func (t *tally) finish(key ed25519.PrivateKey) ExportTrailer {
	t.trailer.Digest = Hash(t.digest.Sum(nil)).String()
	t.trailer.At = time.Now().UTC()
	if key != nil {
		t.trailer.sign(key)
	}
	return t.trailer
}

// ExportOptions say how an export is verified.
type ExportOptions struct {
	Key            ed25519.PublicKey // of the journal that made the export
	AllowNoTrailer bool              // an export without a trailer is a warning, not damage
}

// checkTrailer compares the export with its trailer, and says what is missing.
func (v *exportVerifier) checkTrailer(opts ExportOptions) {
	r, t := &v.report, v.trailer
	switch {
	case t == nil && opts.AllowNoTrailer:
		r.Warning = NoTrailer
		return
	case t == nil:
		r.problem(0, "%s", NoTrailer)
		return
	case len(t.Signature) == 0:
		r.problem(0, "the trailer is not signed")
	case len(opts.Key) != ed25519.PublicKeySize:
		r.problem(0, "the trailer's signature cannot be checked: there is no journal key here; name the key with --key")
	case !ed25519.Verify(opts.Key, t.signed(), t.Signature):
		r.problem(0, "the trailer is forged or changed: it is not signed by this journal's key")
	}
	if !t.Filter.leavesGaps() {
		for _, gap := range v.gaps {
			r.problem(gap.first, "%s", gap.describe())
		}
	}
	v.compare(*t)
}

// compare says how the records differ from what the trailer says.
func (v *exportVerifier) compare(t ExportTrailer) {
	r := &v.report
	switch {
	case r.Records == 0 && t.Records > 0:
		r.problem(t.First, "the export was emptied: it had %d records, %d to %d", t.Records, t.First, t.Last)
		return
	case r.First != t.First:
		r.problem(t.First, "the head of the export was changed: it begins at record %d, its trailer says %d",
			r.First, t.First)
	}
	if r.Last != t.Last || r.Head != t.Head {
		r.problem(t.Last, "the tail of the export was changed: it ends at record %d, its trailer says %d", r.Last, t.Last)
	}
	if r.Records != t.Records {
		r.problem(0, "the export holds %d records, its trailer says %d", r.Records, t.Records)
	}
	if Hash(v.digest.Sum(nil)).String() != t.Digest {
		r.problem(0, "the records are not those that the trailer was made for")
	}
}
