package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/durable"
	"callgate/tool"
)

// An anchor file has two slots, each a sector of its own, written in turn: a
// write torn by a crash spoils one and leaves the other. A slot is
//
//	8 bytes  "cgAnchr1"
//	8 bytes  turn: the greater of two is the newer
//	8 bytes  seq
//	32 bytes hash
//	4 bytes  CRC-32 (IEEE) of the above
//
// big-endian, and zeros up to 512 bytes.
const (
	slotMagic = "cgAnchr1"
	slotSize  = 512
	slotBody  = 8 + 8 + 8 + 32
)

// anchorPoint is a record as the anchor knows it.
type anchorPoint struct {
	seq  uint64
	hash Hash
}

// anchor is the small file that repeats the head. Only the writer writes it.
type anchor struct {
	path string // "" is no anchor
	file *os.File
	turn uint64
	err  error // of the last write
}

// read returns the newest point, nil when there is none: no file, or no slot
// in it that is whole.
func (a *anchor) read() (*anchorPoint, error) {
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, anchorError(err, "the journal's anchor cannot be read")
	}
	p, turn := newestSlot(data)
	a.turn = turn
	return p, nil
}

func newestSlot(data []byte) (newest *anchorPoint, turn uint64) {
	for off := 0; off+slotSize <= len(data) && off < 2*slotSize; off += slotSize {
		p, t, ok := readSlot(data[off : off+slotSize])
		if ok && (newest == nil || t > turn) {
			newest, turn = &p, t
		}
	}
	return newest, turn
}

func readSlot(slot []byte) (p anchorPoint, turn uint64, ok bool) {
	if string(slot[:8]) != slotMagic || crc32.ChecksumIEEE(slot[:slotBody]) != binary.BigEndian.Uint32(slot[slotBody:]) {
		return anchorPoint{}, 0, false
	}
	p.seq = binary.BigEndian.Uint64(slot[16:])
	copy(p.hash[:], slot[24:])
	return p, binary.BigEndian.Uint64(slot[8:]), true
}

// prepare opens the file before the first write, and puts the evidence of a
// cut aside. It takes the room of both slots, so that later writes need none.
// The anchor of a new journal names the empty chain before the first record
// is written: a crash right after that record leaves it behind, not missing.
func (a *anchor) prepare(cut *Truncation, empty bool) error {
	if a.path == "" || a.file != nil {
		return nil
	}
	if cut != nil {
		if err := a.keepEvidence(cut); err != nil {
			return anchorError(err, "the anchor that tells of lost records cannot be copied")
		}
	}
	f, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return anchorError(err, "the journal's anchor cannot be opened")
	}
	info, err := f.Stat()
	if err == nil && info.Size() < 2*slotSize {
		_, err = f.WriteAt(make([]byte, 2*slotSize-info.Size()), info.Size())
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return anchorError(err, "the journal's anchor cannot be made")
	}
	a.file = f
	if empty && cut == nil && a.turn == 0 {
		a.set(anchorPoint{})
		if err := errors.Join(a.err, f.Sync()); err != nil {
			return anchorError(err, "the journal's anchor cannot be made")
		}
	}
	if err := durable.SyncFolder(filepath.Dir(a.path)); err != nil {
		return anchorError(err, "the journal's anchor cannot be made")
	}
	return nil
}

// sync puts on disk what the writer has written to the anchor so far. Anyone
// may call it.
func (a *anchor) sync() error {
	if a.path == "" {
		return nil
	}
	f, err := os.OpenFile(a.path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return anchorError(err, "the journal's anchor cannot be synced")
	}
	return nil
}

// evidencePath names the copy of an anchor that had seen more than the store had.
func evidencePath(path string, seq uint64) string { return fmt.Sprintf("%s.cut-%d", path, seq) }

func (a *anchor) keepEvidence(cut *Truncation) error {
	data, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = durable.Create(evidencePath(a.path, cut.Anchor), data, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // an earlier attempt kept it
	}
	return err
}

// set writes a point into the older slot. A failure leaves the anchor behind
// the store, which is lawful; it is told when the journal closes.
func (a *anchor) set(p anchorPoint) {
	if a.file == nil {
		return
	}
	a.turn++
	var slot [slotSize]byte
	copy(slot[:], slotMagic)
	binary.BigEndian.PutUint64(slot[8:], a.turn)
	binary.BigEndian.PutUint64(slot[16:], p.seq)
	copy(slot[24:], p.hash[:])
	binary.BigEndian.PutUint32(slot[slotBody:], crc32.ChecksumIEEE(slot[:slotBody]))
	_, a.err = a.file.WriteAt(slot[:], int64(a.turn%2)*slotSize)
}

// close syncs and closes the file.
func (a *anchor) close() error {
	if a.file == nil {
		return nil
	}
	err := errors.Join(a.err, a.file.Sync(), a.file.Close())
	a.file = nil
	if err != nil {
		return anchorError(err, "the journal's anchor may be behind")
	}
	return nil
}

// evidence returns the points of the anchors that were put aside.
func (a *anchor) evidence() ([]anchorPoint, error) {
	names, err := filepath.Glob(globQuote(a.path) + ".cut-*")
	if err != nil {
		return nil, err
	}
	var points []anchorPoint
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, anchorError(err, "the evidence of a cut cannot be read")
		}
		if p, _ := newestSlot(data); p != nil {
			points = append(points, *p)
		}
	}
	return points, nil
}

// globQuote makes a path match only itself.
func globQuote(path string) string {
	var b bytes.Buffer
	for _, c := range path {
		if c == '*' || c == '?' || c == '[' {
			fmt.Fprintf(&b, "[%c]", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func anchorError(err error, message string) error {
	return &tool.Error{Op: "journal.anchor", Kind: tool.Unavailable, Message: message, Hint: "see that there is space and that the folder can be written", Err: err}
}
