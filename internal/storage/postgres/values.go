package postgres

import (
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// text is a string that is kept as bytes.
type text string

var (
	_ pgtype.BytesValuer  = text("")
	_ pgtype.BytesScanner = (*text)(nil)
)

// BytesValue returns the bytes to be kept.
func (t text) BytesValue() ([]byte, error) { return []byte(t), nil }

// ScanBytes takes the bytes that were kept.
func (t *text) ScanBytes(b []byte) error {
	*t = text(b)
	return nil
}

// texts are strings as one argument.
func texts(list []string) [][]byte {
	all := make([][]byte, len(list))
	for i, one := range list {
		all[i] = []byte(one)
	}
	return all
}

// present is bytes that are never missing: nil would be NULL.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// nullable is JSON that may be missing.
func nullable(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return data
}

// number is a Seq as the database counts; those beyond are beyond any row.
func number(seq uint64) int64 { return int64(min(seq, math.MaxInt64)) }

// fromNanos reads a time; 0 is the zero time.
func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// nanos writes a time; the zero time is NULL, which statements take for now.
func nanos(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixNano()
	return &n
}

// now is the server's clock in nanoseconds, which does not move within a statement.
const now = "((extract(epoch FROM statement_timestamp()) * 1000000)::bigint * 1000)"
