// Package wordcache keeps the keyword index of a folder's tools on disk, so that a restart need not
// read every tool again.
//
// A folder has one file: a header, the key of each document, the index as its package writes it, and
// a checksum of all of them.
//
// # Law
//
//   - The file is replaced whole or not at all, so a process that is killed leaves the old one. Of two
//     that write at once, one wins.
//   - A file of another version or another recipe, one that is cut, grown or changed, or none: each is
//     an error of [Read], after which the index is built from the tools and written again. Nothing is
//     repaired.
//   - What is decoded before the checksum is known is dropped if that is wrong.
//   - A file beyond the limit is neither written nor read.
package wordcache

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"callgate/internal/durable"
)

const (
	name    = "words.idx"
	magic   = "callgate words\n\x01" // the last byte is the version
	maxFile = 1 << 30
	sumSize = 4
)

// Key identifies a document by its content. The zero key is that of no document.
type Key [16]byte

// ErrDamaged says that a file is not what was written, or of another recipe.
var ErrDamaged = errors.New("the file of words is damaged, or of another version")

var errTooLarge = errors.New("the index of words is too large for a file")

// header begins a file: what the recipe makes of the same documents is the same.
func header(recipe string, keys int) []byte {
	sum := sha256.Sum256([]byte(recipe))
	return binary.LittleEndian.AppendUint32(append([]byte(magic), sum[:]...), uint32(keys))
}

func newSum() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// Write replaces the file of a folder, which is made where it is missing. Encode writes the index of
// the documents with these keys.
func Write(folder, recipe string, keys []Key, encode func(io.Writer) error) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return durable.WriteFrom(filepath.Join(folder, name), 0o600, func(w io.Writer) error {
		sum := newSum()
		buffer := bufio.NewWriterSize(w, 1<<16)
		out := &limitedWriter{io.MultiWriter(buffer, sum), maxFile - sumSize}
		if _, err := out.Write(header(recipe, len(keys))); err != nil {
			return err
		}
		for i := range keys {
			if _, err := out.Write(keys[i][:]); err != nil {
				return err
			}
		}
		if err := encode(out); err != nil {
			return err
		}
		if _, err := buffer.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32())); err != nil {
			return err
		}
		return buffer.Flush()
	})
}

// limitedWriter fails when more is written than is left.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errTooLarge
	}
	return w.to.Write(b)
}

// Read reads the file of a folder. It calls decode with the index and its size; what that makes of it
// counts only if Read returns no error.
func Read(folder, recipe string, decode func(r io.Reader, size int64) error) ([]Key, error) {
	path := filepath.Join(folder, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for the other end
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, ErrDamaged
	}
	return read(f, info.Size(), recipe, decode)
}

func read(f io.Reader, size int64, recipe string, decode func(io.Reader, int64) error) ([]Key, error) {
	sum := newSum()
	in := io.TeeReader(f, sum)
	want := header(recipe, 0)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in, got); err != nil {
		return nil, damaged(err)
	}
	count := binary.LittleEndian.Uint32(got[len(got)-4:])
	left := size - int64(len(got)) - int64(count)*int64(len(Key{})) - sumSize
	if !bytes.Equal(got[:len(got)-4], want[:len(want)-4]) || left < 0 {
		return nil, ErrDamaged
	}
	keys := make([]Key, count)
	packed := make([]byte, len(Key{})*len(keys))
	if _, err := io.ReadFull(in, packed); err != nil {
		return nil, damaged(err)
	}
	for i := range keys {
		keys[i] = Key(packed[i*len(Key{}):])
	}
	if err := decode(io.LimitReader(in, left), left); err != nil {
		return nil, err
	}
	is := binary.LittleEndian.AppendUint32(nil, sum.Sum32())
	end := make([]byte, sumSize)
	if _, err := io.ReadFull(f, end); err != nil || !bytes.Equal(end, is) {
		return nil, damaged(err)
	}
	return keys, nil
}

// damaged is the error of a file that could be read, or of one that could not.
func damaged(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDamaged
	}
	return err
}
