package rowset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// cell opens a cell on both sides.
func (w *Writer) cell() {
	if w.first {
		w.first = false
		return
	}
	w.json = append(w.json, ',')
	w.text = append(w.text, " | "...)
}

// Null writes a cell without a value.
func (w *Writer) Null() {
	w.cell()
	w.json = append(w.json, "null"...)
	w.text = append(w.text, "NULL"...)
}

// Bool writes a truth value.
func (w *Writer) Bool(v bool) {
	w.cell()
	w.json = strconv.AppendBool(w.json, v)
	w.text = strconv.AppendBool(w.text, v)
}

// Int writes a whole number.
func (w *Writer) Int(v int64) {
	w.cell()
	start := len(w.json)
	w.json = strconv.AppendInt(w.json, v, 10)
	w.text = append(w.text, w.json[start:]...)
}

// Uint writes a whole number that has no sign.
func (w *Writer) Uint(v uint64) {
	w.cell()
	start := len(w.json)
	w.json = strconv.AppendUint(w.json, v, 10)
	w.text = append(w.text, w.json[start:]...)
}

// Float32 writes a number of the shorter kind, without digits it never had.
func (w *Writer) Float32(v float32) { w.float(float64(v), 32) }

// Float writes a number; one that JSON has no word for becomes a text.
func (w *Writer) Float(v float64) { w.float(v, 64) }

func (w *Writer) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.Text(strconv.FormatFloat(v, 'g', -1, 64))
		return
	}
	w.cell()
	start := len(w.json)
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.json = strconv.AppendFloat(w.json, v, format, -1, bits)
	w.text = append(w.text, w.json[start:]...)
}

// Number writes a number that a database already wrote in digits, as it is.
func (w *Writer) Number(digits []byte) {
	if !isNumber(digits) {
		w.Bytes(digits)
		return
	}
	w.cell()
	w.json = append(w.json, digits...)
	w.text = append(w.text, digits...)
}

// isNumber reports whether JSON would take digits for a number. Databases
// write them plainly, so it looks for no more than can go wrong: NaN,
// Infinity, a leading zero, a bare point.
func isNumber(digits []byte) bool {
	rest := digits
	if len(rest) > 0 && rest[0] == '-' {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0] < '0' || rest[0] > '9' || len(rest) > 1 && rest[0] == '0' && rest[1] != '.' && rest[1]|0x20 != 'e' {
		return false
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			return digits[len(digits)-1] > ' ' && json.Valid(digits)
		}
	}
	return true
}

// Text writes a text.
func (w *Writer) Text(s string) {
	w.cell()
	if len(s) > w.limits.Text {
		s = w.clip(s)
	}
	if plain(s) {
		w.json = append(w.json, '"')
		w.json = append(w.json, s...)
		w.json = append(w.json, '"')
		w.text = append(w.text, s...)
		return
	}
	w.json = appendQuoted(w.json, s)
	w.text = appendPlain(w.text, s)
}

// Bytes is Text for one that is still bytes.
func (w *Writer) Bytes(s []byte) {
	if len(s) <= w.limits.Text && plain(s) {
		w.cell()
		w.json = append(w.json, '"')
		w.json = append(w.json, s...)
		w.json = append(w.json, '"')
		w.text = append(w.text, s...)
		return
	}
	w.Text(string(s))
}

// clip cuts a text between two characters, and says how long it was.
func (w *Writer) clip(s string) string {
	w.clipped++
	n := w.limits.Text
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "… (" + strconv.Itoa(len(s)) + " bytes in all)"
}

// Time writes a moment, as RFC 3339 has it.
func (w *Writer) Time(t time.Time) {
	w.cell()
	start := len(w.json) + 1
	w.json = append(w.json, '"')
	w.json = t.AppendFormat(w.json, time.RFC3339Nano)
	w.text = append(w.text, w.json[start:]...)
	w.json = append(w.json, '"')
}

// Stamp writes a moment that a database wrote as 2006-01-02 15:04:05.999+02.
// What is written otherwise stays as it is.
func (w *Writer) Stamp(s []byte) {
	if len(s) < 19 || s[10] != ' ' || s[4] != '-' || s[13] != ':' || bytes.IndexByte(s[11:], ' ') >= 0 {
		w.Bytes(s)
		return
	}
	b := append(w.scratch[:0], s...)
	b[10] = 'T'
	if sign := len(b) - 3; sign >= 19 && (b[sign] == '+' || b[sign] == '-') {
		b = append(b, ":00"...)
	}
	w.scratch = b
	w.Bytes(b)
}

// JSON writes a value that is JSON already. What is too long, or is not JSON
// after all, is written as a text.
func (w *Writer) JSON(s []byte) {
	if len(s) > w.limits.Text || !json.Valid(s) {
		w.Bytes(s)
		return
	}
	w.cell()
	w.json = append(w.json, s...)
	w.text = appendPlain(w.text, string(s))
}

// Blob writes bytes that are no text.
func (w *Writer) Blob(s []byte) {
	w.cell()
	size := len(s)
	if size > w.limits.Blob {
		w.clipped++
		s = s[:w.limits.Blob]
	}
	w.json = append(w.json, `{"base64":"`...)
	w.json = base64.StdEncoding.AppendEncode(w.json, s)
	w.json = append(w.json, `","bytes":`...)
	w.json = strconv.AppendInt(w.json, int64(size), 10)
	if len(s) < size {
		w.json = append(w.json, `,"clipped":true`...)
	}
	w.json = append(w.json, '}')
	w.text = append(w.text, '<')
	w.text = strconv.AppendInt(w.text, int64(size), 10)
	w.text = append(w.text, " bytes>"...)
}

// special marks what must be written otherwise in JSON or in the table.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	for _, c := range []byte{'"', '\\', '|', 0x7f} {
		t[c] = true
	}
	for c := 0x80; c < 0x100; c++ {
		t[c] = true
	}
	return t
}()

// plain reports whether a text is the same everywhere.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if special[s[i]] {
			return false
		}
	}
	return true
}

const hex = "0123456789abcdef"

// appendQuoted appends a text as JSON.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// appendPlain appends a text for the table: on one line, its bars told from
// those between cells.
func appendPlain(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		switch {
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '|':
			b = append(b, '\\', '|')
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return b
}

// decode reads JSON with its numbers as they are written.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}
