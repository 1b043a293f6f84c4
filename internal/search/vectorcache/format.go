package vectorcache

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"math"
	"unsafe"
)

// The file:
//
//	header   "callgate vectors", version, dim, length of the model, the model
//	records  mark[4] key[16] scale[4] row[dim] checksum[4]
//
// Numbers are little-endian; version, dim and length have four bytes each. The
// checksum is the CRC-32C of key, scale and row, seeded with that of the header.
const (
	magic   = "callgate vectors"
	version = 1

	mark      = "\xca\x11\x6a\x7e"
	keySize   = 16
	keyAt     = len(mark)
	scaleAt   = keyAt + keySize
	rowAt     = scaleAt + 4
	sumSize   = 4
	besideRow = rowAt + sumSize
)

// format is the format of one model's file. The header is known before the file is
// read, so it is compared and never parsed.
type format struct {
	header []byte
	dim    int
	seed   uint32
	table  *crc32.Table
}

func newFormat(model string, dim int) format {
	header := []byte(magic)
	for _, n := range []int{version, dim, len(model)} {
		header = binary.LittleEndian.AppendUint32(header, uint32(n))
	}
	header = append(header, model...)
	table := crc32.MakeTable(crc32.Castagnoli)
	return format{header, dim, crc32.Checksum(header, table), table}
}

// size is the size of a record.
func (f format) size() int { return besideRow + f.dim }

// append appends a record to data.
func (f format) append(data []byte, key [16]byte, row []int8, scale float32) []byte {
	start := len(data)
	data = append(data, mark...)
	data = append(data, key[:]...)
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(scale))
	for _, x := range row {
		data = append(data, byte(x))
	}
	return binary.LittleEndian.AppendUint32(data, f.sum(data[start+keyAt:]))
}

func (f format) sum(body []byte) uint32 { return crc32.Update(f.seed, f.table, body) }

// records yields the valid records after a header, each with the offset of its
// end. It skips damage up to the next mark.
func (f format) records(data []byte) iter.Seq2[int, []byte] {
	size := f.size()
	return func(yield func(int, []byte) bool) {
		for at := 0; at+size <= len(data); {
			record := data[at : at+size]
			if f.good(record) {
				if at += size; !yield(at, record) {
					return
				}
				continue
			}
			next := bytes.Index(data[at+1:], []byte(mark))
			if next < 0 {
				return
			}
			at += 1 + next
		}
	}
}

func (f format) good(record []byte) bool {
	end := len(record) - sumSize
	return string(record[:keyAt]) == mark &&
		binary.LittleEndian.Uint32(record[end:]) == f.sum(record[keyAt:end]) &&
		finite(scaleOf(record))
}

func keyOf(record []byte) [16]byte { return [16]byte(record[keyAt:scaleAt]) }

func scaleOf(record []byte) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(record[scaleAt:]))
}

// load reads a whole file. The last record of a key counts. The rows share the
// memory of data.
func (f format) load(data []byte) map[[16]byte]entry {
	body, ok := bytes.CutPrefix(data, f.header)
	if !ok {
		return map[[16]byte]entry{}
	}
	rows := make(map[[16]byte]entry, len(body)/f.size())
	for _, record := range f.records(body) {
		rows[keyOf(record)] = entry{signed(record[rowAt : rowAt+f.dim : rowAt+f.dim]), scaleOf(record)}
	}
	return rows
}

// signed returns the same memory as int8. Copying would take longer than the rest
// of loading.
func signed(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}
