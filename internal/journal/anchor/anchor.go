// Package anchor is the small file that repeats the head of a journal's chain
// outside its store, so that a cut tail shows.
//
// # Law
//
// The file is written after the store has synced, and not synced itself: after
// a power cut it may be behind the store, never ahead of it. So an anchor that
// has seen more than the store has, or something else, is evidence, and a copy
// of it is kept before it is written again.
//
// # The file
//
// It has two slots, each a sector of its own, written in turn: a write torn by a
// crash spoils one and leaves the other. A slot is
//
//	8 bytes  "cgAnchr1"
//	8 bytes  turn: the greater of two is the newer
//	8 bytes  seq
//	32 bytes hash
//	4 bytes  CRC-32 (IEEE) of the above
//
// big-endian, and zeros up to 512 bytes.
package anchor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/durable"
	"callgate/tool"
)

const (
	slotMagic = "cgAnchr1"
	slotSize  = 512
	slotBody  = 8 + 8 + 8 + 32
)

// Point is a record as the anchor knows it. The zero Point is the empty chain.
type Point struct {
	Seq  uint64
	Hash [32]byte
}

// File is an anchor. One goroutine writes it; Sync is for anyone.
type File struct {
	path string // "": no anchor is kept
	file *os.File
	turn uint64
	err  error // of the last write
}

// At is the anchor in a file, which need not exist. With "" no anchor is kept,
// and every method does nothing.
func At(path string) *File { return &File{path: path} }

// Kept reports whether there is a file at all.
func (f *File) Kept() bool { return f.path != "" }

// Read returns the newest point; nil when no slot of the file is whole, or there
// is no file.
func (f *File) Read() (*Point, error) {
	if !f.Kept() {
		return nil, nil
	}
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, anchorError(err, "the journal's anchor cannot be read")
	}
	p, turn := newestSlot(data)
	f.turn = turn
	return p, nil
}

func newestSlot(data []byte) (newest *Point, turn uint64) {
	for off := 0; off+slotSize <= len(data) && off < 2*slotSize; off += slotSize {
		p, t, ok := readSlot(data[off : off+slotSize])
		if ok && (newest == nil || t > turn) {
			newest, turn = &p, t
		}
	}
	return newest, turn
}

func readSlot(slot []byte) (p Point, turn uint64, ok bool) {
	sum := binary.BigEndian.Uint32(slot[slotBody:])
	if string(slot[:8]) != slotMagic || crc32.ChecksumIEEE(slot[:slotBody]) != sum {
		return Point{}, 0, false
	}
	p.Seq = binary.BigEndian.Uint64(slot[16:])
	copy(p.Hash[:], slot[24:])
	return p, binary.BigEndian.Uint64(slot[8:]), true
}

// Opened reports whether the file is open for writing, or none is kept.
func (f *File) Opened() bool { return !f.Kept() || f.file != nil }

// Open opens the file for writing, and makes it when it is absent. It takes the
// space of both slots, so that later writes need none. The anchor of a new
// journal names the empty chain before the first record is written: a crash
// right after that record leaves it behind, not missing.
func (f *File) Open(isNew bool) error {
	if f.Opened() {
		return nil
	}
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return anchorError(err, "the journal's anchor cannot be opened")
	}
	info, err := file.Stat()
	if err == nil && info.Size() < 2*slotSize {
		_, err = file.WriteAt(make([]byte, 2*slotSize-info.Size()), info.Size())
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		file.Close()
		return anchorError(err, "the journal's anchor cannot be made")
	}
	f.file = file
	if isNew && f.turn == 0 {
		f.Set(Point{})
		err = errors.Join(f.err, file.Sync())
	}
	if err = errors.Join(err, durable.SyncFolder(filepath.Dir(f.path))); err != nil {
		return anchorError(err, "the journal's anchor cannot be made")
	}
	return nil
}

// Sync brings to the disk what was written so far.
func (f *File) Sync() error {
	if !f.Kept() {
		return nil
	}
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(file.Sync(), file.Close())
	}
	if err != nil {
		return anchorError(err, "the journal's anchor cannot be synced")
	}
	return nil
}

// Preserve keeps a copy of a file that named a record which the store does not
// have.
func (f *File) Preserve(seq uint64) error {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = durable.Create(fmt.Sprintf("%s.cut-%d", f.path, seq), data, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // an earlier attempt may have kept it
		return anchorError(err, "the anchor that shows a loss of records cannot be copied")
	}
	return nil
}

// Preserved returns the points of the copies that Preserve kept.
func (f *File) Preserved() ([]Point, error) {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, anchorError(err, "the folder of the anchor cannot be read")
	}
	var points []Point
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(f.path)+".cut-") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(f.path), e.Name()))
		if err != nil {
			return nil, anchorError(err, "a preserved anchor cannot be read")
		}
		if p, _ := newestSlot(data); p != nil {
			points = append(points, *p)
		}
	}
	return points, nil
}

// Set writes a point into the older slot. A failure leaves the anchor behind
// the store, which is lawful; Close reports it.
func (f *File) Set(p Point) {
	if f.file == nil {
		return
	}
	f.turn++
	var slot [slotSize]byte
	copy(slot[:], slotMagic)
	binary.BigEndian.PutUint64(slot[8:], f.turn)
	binary.BigEndian.PutUint64(slot[16:], p.Seq)
	copy(slot[24:], p.Hash[:])
	binary.BigEndian.PutUint32(slot[slotBody:], crc32.ChecksumIEEE(slot[:slotBody]))
	_, f.err = f.file.WriteAt(slot[:], int64(f.turn%2)*slotSize)
}

// Close syncs and closes the file.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	err := errors.Join(f.err, f.file.Sync(), f.file.Close())
	f.file = nil
	if err != nil {
		return anchorError(err, "the journal's anchor may be behind")
	}
	return nil
}

func anchorError(err error, message string) error {
	return &tool.Error{
		Op: "journal.anchor", Kind: tool.Unavailable, Message: message, Err: err,
		Hint: "see that there is space and that the folder can be written",
	}
}
