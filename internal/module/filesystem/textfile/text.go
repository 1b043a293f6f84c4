// Package textfile reads files as text: it recognizes text by the first bytes of a
// file, decodes text that is not UTF-8, and reads lines from the start, from the
// middle or from the end without reading more than it must.
package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/internal/amount"
)

// Encoding is the encoding of a text file.
type Encoding string

// The encodings. A file without a byte order mark is taken for UTF-8.
const (
	UTF8     Encoding = "utf-8"
	UTF8Mark Encoding = "utf-8 with byte order mark"
	UTF16LE  Encoding = "utf-16le"
	UTF16BE  Encoding = "utf-16be"
)

// EncodingOf returns the encoding that the first bytes of a file announce.
func EncodingOf(head []byte) Encoding {
	for _, e := range [...]Encoding{UTF8Mark, UTF16LE, UTF16BE} {
		if strings.HasPrefix(string(head[:min(len(head), 3)]), e.Mark()) {
			return e
		}
	}
	return UTF8
}

// Mark is the byte order mark of the encoding.
func (e Encoding) Mark() string {
	switch e {
	case UTF8Mark:
		return "\xef\xbb\xbf"
	case UTF16LE:
		return "\xff\xfe"
	case UTF16BE:
		return "\xfe\xff"
	default:
		return ""
	}
}

// Wide reports whether the bytes of a file must be decoded to be UTF-8.
func (e Encoding) Wide() bool { return e == UTF16LE || e == UTF16BE }

// Decode returns the text of a whole file as UTF-8, without its mark. It reports
// false if Encode would not return the same bytes.
func (e Encoding) Decode(raw []byte) (text []byte, lossless bool) {
	body := raw[len(e.Mark()):]
	if !e.Wide() {
		return body, true
	}
	text = e.decodeWide(body)
	return text, bytes.Equal(e.Encode(text), raw)
}

// Encode returns the bytes of a file with the text.
func (e Encoding) Encode(text []byte) []byte {
	switch e {
	case UTF8Mark:
		return append([]byte(e.Mark()), text...)
	case UTF16LE, UTF16BE:
		raw := append(make([]byte, 0, 2*len(text)+2), e.Mark()...)
		for _, unit := range utf16.Encode([]rune(string(text))) {
			if e == UTF16BE {
				raw = binary.BigEndian.AppendUint16(raw, unit)
			} else {
				raw = binary.LittleEndian.AppendUint16(raw, unit)
			}
		}
		return raw
	default:
		return text
	}
}

// Size returns how many bytes Encode makes of a text.
func (e Encoding) Size(text []byte) int {
	if !e.Wide() {
		return len(e.Mark()) + len(text)
	}
	const unit = 2
	size := len(e.Mark())
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		size += unit * utf16.RuneLen(r)
		i += n
	}
	return size
}

// decodeWide turns UTF-16 into UTF-8. Half a pair, or an odd last byte, becomes
// the replacement character.
func (e Encoding) decodeWide(raw []byte) []byte {
	units := make([]uint16, 0, len(raw)/2+1)
	for ; len(raw) >= 2; raw = raw[2:] {
		if e == UTF16BE {
			units = append(units, binary.BigEndian.Uint16(raw))
		} else {
			units = append(units, binary.LittleEndian.Uint16(raw))
		}
	}
	if len(raw) == 1 {
		units = append(units, utf8.RuneError)
	}
	return []byte(string(utf16.Decode(units)))
}

// FileKind is what the first bytes of a file tell.
type FileKind struct {
	Image    string // the MIME type of an image that a model can see; "": it is none
	Binary   bool   // not text
	Encoding Encoding
}

// SniffLen is the number of bytes that decide what a file is.
const SniffLen = 8 << 10

// Sniff distinguishes text, images and other binary files. A file is binary if it
// holds a zero byte, or if more than three bytes in ten are not UTF-8; with fewer
// it is taken for text in an older encoding, and worth showing.
func Sniff(head []byte) FileKind {
	head = head[:min(len(head), SniffLen)]
	if mime := imageType(string(head[:min(len(head), 16)])); mime != "" {
		return FileKind{Image: mime, Binary: true}
	}
	n := FileKind{Encoding: EncodingOf(head)}
	n.Binary = !n.Encoding.Wide() && (bytes.IndexByte(head, 0) >= 0 || invalidBytes(head)*10 > len(head)*3)
	return n
}

// imageType returns the MIME type of an image; "" if it is none.
func imageType(head string) string {
	switch {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(head, "RIFF") && len(head) > 12 && strings.HasPrefix(head[8:], "WEBP"):
		return "image/webp"
	default:
		return ""
	}
}

// invalidBytes counts the bytes that are not part of valid UTF-8, except those of
// a character that the end of the text cuts.
func invalidBytes(text []byte) int {
	invalid := 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(text) {
			invalid++
		}
		text = text[n:]
	}
	return invalid
}

// SniffFile sniffs the start of a file, and does not move its offset.
func SniffFile(f io.ReaderAt) (FileKind, error) {
	head := make([]byte, SniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return FileKind{}, err
	}
	return Sniff(head[:n]), nil
}

// maxWide limits a UTF-16 file, which is decoded in memory.
const maxWide = 32 << 20

// Text returns the text of a file as UTF-8, without its mark. It reads a UTF-16
// file at once; the caller reads any other as it needs it.
func Text(f io.ReaderAt, size int64, e Encoding) (*io.SectionReader, error) {
	skip := int64(len(e.Mark()))
	body := io.NewSectionReader(f, skip, max(0, size-skip))
	if !e.Wide() {
		return body, nil
	}
	if size > maxWide {
		return nil, fmt.Errorf("a file of %s in %s is too large to decode; the limit is %s",
			amount.Bytes(size), e, amount.Bytes(maxWide))
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	text := e.decodeWide(raw)
	return io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))), nil
}

// CountLines counts the lines of a text, also a last one without a newline.
func CountLines(text string) int {
	n := strings.Count(text, "\n")
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// Cut shortens a line to at most limit bytes, and splits no character.
func Cut(line []byte, limit int) []byte {
	if len(line) <= limit {
		return line
	}
	for back := 0; back < utf8.UTFMax && limit-back > 0; back++ {
		if utf8.RuneStart(line[limit-back]) {
			return line[:limit-back]
		}
	}
	return line[:limit] // it is not UTF-8
}

// Valid returns a text as valid UTF-8, and reports whether it was valid already.
func Valid(text []byte) (string, bool) {
	if utf8.Valid(text) {
		return string(text), true
	}
	return strings.ToValidUTF8(string(text), string(utf8.RuneError)), false
}
