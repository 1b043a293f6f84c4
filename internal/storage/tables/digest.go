package tables

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// Digest sums up the rows of a table in their order: two tables have the same one if every cell of every row is the
// same. The zero value is that of no rows.
type Digest struct {
	sum   hash.Hash
	count int64
	bytes int64
}

// Add adds a row.
func (d *Digest) Add(row Row) {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	encoded := Encode(row)
	d.sum.Write(encoded)
	d.count++
	d.bytes += int64(len(encoded))
}

// Rows is how many rows were added.
func (d *Digest) Rows() int64 { return d.count }

// Bytes is about how many bytes they have.
func (d *Digest) Bytes() int64 { return d.bytes }

// String is the sum in hex.
func (d *Digest) String() string {
	if d.sum == nil {
		return hex.EncodeToString(sha256.New().Sum(nil))
	}
	return hex.EncodeToString(d.sum.Sum(nil))
}

// Encode writes a row so that no two different ones read the same: each cell is its kind, its length and its bytes.
func Encode(row Row) []byte {
	encoded := binary.AppendUvarint(nil, uint64(len(row)))
	for _, cell := range row {
		switch c := cell.(type) {
		case nil:
			encoded = append(encoded, 'n')
		case int64:
			encoded = binary.BigEndian.AppendUint64(append(encoded, 'i'), uint64(c))
		case string:
			encoded = append(binary.AppendUvarint(append(encoded, 't'), uint64(len(c))), c...)
		case []byte:
			encoded = append(binary.AppendUvarint(append(encoded, 'b'), uint64(len(c))), c...)
		default:
			panic(fmt.Sprintf("tables: a cell is a %T", cell)) // no driver makes one
		}
	}
	return encoded
}

// Size is about how many bytes a row has.
func (r Row) Size() (n int) {
	for _, cell := range r {
		switch c := cell.(type) {
		case string:
			n += len(c)
		case []byte:
			n += len(c)
		}
		n += 8
	}
	return n
}
