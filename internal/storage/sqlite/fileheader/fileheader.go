// Package fileheader reads the schema version of an SQLite file without opening it as a
// database. Law: the file and all beside it stay as they are, to the byte.
package fileheader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"

	"callgate/tool"
)

// The places of the file formats that peek reads; all numbers are big-endian.
const (
	headerSize    = 100
	versionOffset = 60 // user_version in the database header, which opens page 1

	walHeaderSize = 32
	walFrameSize  = 24
	walMagic      = 0x377f0682 // its lowest bit says that checksums are big-endian
)

var magic = []byte("SQLite format 3\x00")

// Version returns the schema version of the file at path without opening it as a
// database: SQLite would make files beside it, and fold its log into it when
// closing. The version stands in the header; a newer one may still be in the
// log. A file that is absent or empty has version 0.
func Version(path string) (int, error) {
	const op = "sqlite.Open"
	header := make([]byte, headerSize)
	n, err := readStart(path, header)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && n == 0:
		return 0, nil
	case err != nil:
		return 0, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the database cannot be read", Err: err}
	case n < headerSize || !bytes.HasPrefix(header, magic):
		return 0, tool.Errorf(op, tool.Invalid, "%s is not an SQLite file", path).
			WithHint("restore it from a copy, or move it away: a kernel then says what is missing; " +
				"or name another state directory")
	}
	version := int32(binary.BigEndian.Uint32(header[versionOffset:]))
	logged, ok, err := peekLog(path + "-wal")
	if err != nil {
		return 0, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the log of the database cannot be read", Err: err}
	}
	if ok {
		version = logged
	}
	if version < 0 {
		return 0, tool.Errorf(op, tool.Invalid, "%s has schema version %d, which no Callgate ever wrote", path, version)
	}
	return int(version), nil
}

// readStart fills buf from the start of the file, as far as it goes.
func readStart(path string, buf []byte) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// peekLog returns the version in the newest committed copy of page 1 in a
// write-ahead log, and false when it holds none.
func peekLog(path string) (version int32, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	return readLog(f)
}

// readLog goes through the frames of a log as SQLite's recovery does: each
// must carry the salt of the header and a checksum over all before it, and
// counts when a frame that commits follows it.
func readLog(r io.Reader) (version int32, ok bool, err error) {
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, false, ignoreShort(err)
	}
	be := binary.BigEndian
	format, pageSize := be.Uint32(header), be.Uint32(header[8:])
	if format&^1 != walMagic || pageSize < 512 || pageSize > 65536 || pageSize&(pageSize-1) != 0 {
		return 0, false, nil
	}
	sum := checksum{order: binary.LittleEndian}
	if format&1 != 0 {
		sum.order = be
	}
	if sum.add(header[:24]); !sum.is(header[24:]) {
		return 0, false, nil
	}
	var pending int32
	var found bool
	frame := make([]byte, walFrameSize+int(pageSize))
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return version, ok, ignoreShort(err)
		}
		page := frame[walFrameSize:]
		sum.add(frame[:8])
		sum.add(page)
		if !bytes.Equal(frame[8:16], header[16:24]) || !sum.is(frame[16:24]) {
			return version, ok, nil
		}
		if be.Uint32(frame) == 1 {
			pending, found = int32(be.Uint32(page[versionOffset:])), true
		}
		if committed := be.Uint32(frame[4:]) != 0; committed && found {
			version, ok = pending, true
		}
	}
}

func ignoreShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// checksum is the running sum of a write-ahead log.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c.s0 += c.order.Uint32(data) + c.s1
		c.s1 += c.order.Uint32(data[4:]) + c.s0
	}
}

// is compares with a stored sum, which is big-endian in either kind of log.
func (c *checksum) is(stored []byte) bool {
	return c.s0 == binary.BigEndian.Uint32(stored) && c.s1 == binary.BigEndian.Uint32(stored[4:])
}
