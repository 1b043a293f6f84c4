// Package textfile reads files as text: it tells text from other things by the
// first bytes, decodes what is not plain UTF-8, and takes lines from the start,
// from the middle or from the end without reading more than it must.
package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how the text of a file is written, as its first bytes say.
type Encoding string

// The encodings. A file without a byte order mark is taken for UTF-8.
const (
	UTF8     Encoding = "utf-8"
	UTF8Mark Encoding = "utf-8 with byte order mark"
	UTF16LE  Encoding = "utf-16le"
	UTF16BE  Encoding = "utf-16be"
)

// EncodingOf is the encoding that the first bytes of a file say.
func EncodingOf(head []byte) Encoding {
	for _, e := range [...]Encoding{UTF8Mark, UTF16LE, UTF16BE} {
		if strings.HasPrefix(string(head[:min(len(head), 3)]), e.Mark()) {
			return e
		}
	}
	return UTF8
}

// Mark is the byte order mark with which a file of the encoding begins.
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

// Decode gives the text of a whole file as UTF-8, without its mark. It reports
// false when Encode would not give the same bytes back.
func (e Encoding) Decode(raw []byte) (text []byte, lossless bool) {
	body := raw[len(e.Mark()):]
	if !e.Wide() {
		return body, true
	}
	text = e.widen(body)
	return text, bytes.Equal(e.Encode(text), raw)
}

// Encode is the way back: the bytes of a file that holds the text.
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

// widen turns UTF-16 into UTF-8; half a pair, or an odd last byte, becomes the
// replacement character.
func (e Encoding) widen(raw []byte) []byte {
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

// FileKind is what the first bytes of a file reveal.
type FileKind struct {
	Image    string // the MIME type of a picture that a model can see
	Binary   bool   // not text
	Encoding Encoding
}

// SniffLen is how many bytes are looked at to tell text from the rest.
const SniffLen = 8 << 10

// Sniff tells text, pictures and other binary files apart. A file is binary
// when it holds a zero byte, or when more than three bytes in ten are not
// UTF-8; fewer are taken for text in an older encoding, worth showing.
func Sniff(head []byte) FileKind {
	head = head[:min(len(head), SniffLen)]
	if mime := picture(string(head[:min(len(head), 16)])); mime != "" {
		return FileKind{Image: mime, Binary: true}
	}
	n := FileKind{Encoding: EncodingOf(head)}
	n.Binary = !n.Encoding.Wide() && (bytes.IndexByte(head, 0) >= 0 || strayBytes(head)*10 > len(head)*3)
	return n
}

// picture is the type of a picture that begins so, or empty.
func picture(head string) string {
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

// strayBytes counts the bytes that are not part of valid UTF-8; a character
// that the end cuts in two is not counted.
func strayBytes(text []byte) int {
	stray := 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(text) {
			stray++
		}
		text = text[n:]
	}
	return stray
}

// SniffFile looks at the start of a file without moving in it.
func SniffFile(f io.ReaderAt) (FileKind, error) {
	head := make([]byte, SniffLen)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return FileKind{}, err
	}
	return Sniff(head[:n]), nil
}

// maxWide bounds a UTF-16 file, which is decoded whole.
const maxWide = 32 << 20

// Text gives the text of a file as UTF-8, without its mark. Only a UTF-16 file
// is read for it; any other is read as the caller goes.
func Text(f io.ReaderAt, size int64, e Encoding) (*io.SectionReader, error) {
	skip := int64(len(e.Mark()))
	body := io.NewSectionReader(f, skip, max(0, size-skip))
	if !e.Wide() {
		return body, nil
	}
	if size > maxWide {
		return nil, fmt.Errorf("a file of %s in %s is too large to decode; the most is %s", Size(size), e, Size(maxWide))
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	text := e.widen(raw)
	return io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text))), nil
}

// CountLines counts the lines of a text; a last one without its newline counts.
func CountLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// Cut shortens a line to at most most bytes, at a character's edge.
func Cut(line []byte, most int) []byte {
	if len(line) <= most {
		return line
	}
	for back := 0; back < utf8.UTFMax && most-back > 0; back++ {
		if utf8.RuneStart(line[most-back]) {
			return line[:most-back]
		}
	}
	return line[:most] // not UTF-8: any place is as good
}

// Valid makes a text fit for JSON, and reports whether it already was.
func Valid(text []byte) (string, bool) {
	if utf8.Valid(text) {
		return string(text), true
	}
	return strings.ToValidUTF8(string(text), string(utf8.RuneError)), false
}

// Size writes a number of bytes as people do.
func Size(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
}
