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

// Row writes the cells of one row, in the order of the columns. Each method
// writes one cell.
type Row struct {
	maxText, maxBlob int
	json, text       []byte // the rows so far, in both forms
	scratch          []byte
	clipped          int  // cells that were cut
	first            bool // the next cell is the first of its row
}

// next starts a cell in both forms.
func (r *Row) next() {
	if r.first {
		r.first = false
		return
	}
	r.json = append(r.json, ',')
	r.text = append(r.text, " | "...)
}

// Null writes NULL.
func (r *Row) Null() {
	r.next()
	r.json = append(r.json, "null"...)
	r.text = append(r.text, "NULL"...)
}

// Bool writes a boolean.
func (r *Row) Bool(v bool) {
	r.next()
	r.json = strconv.AppendBool(r.json, v)
	r.text = strconv.AppendBool(r.text, v)
}

// Int writes an integer.
func (r *Row) Int(v int64) {
	r.next()
	start := len(r.json)
	r.json = strconv.AppendInt(r.json, v, 10)
	r.text = append(r.text, r.json[start:]...)
}

// Uint writes an unsigned integer.
func (r *Row) Uint(v uint64) {
	r.next()
	start := len(r.json)
	r.json = strconv.AppendUint(r.json, v, 10)
	r.text = append(r.text, r.json[start:]...)
}

// Float32 writes a single-precision number with only the digits that it has.
func (r *Row) Float32(v float32) { r.float(float64(v), 32) }

// Float writes a number. NaN and infinities, which JSON lacks, become texts.
func (r *Row) Float(v float64) { r.float(v, 64) }

func (r *Row) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.Text(strconv.FormatFloat(v, 'g', -1, 64))
		return
	}
	r.next()
	start := len(r.json)
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	r.json = strconv.AppendFloat(r.json, v, format, -1, bits)
	r.text = append(r.text, r.json[start:]...)
}

// Number writes a number that the database has already formatted, digit by digit.
func (r *Row) Number(digits []byte) {
	if !isNumber(digits) {
		r.Bytes(digits)
		return
	}
	r.next()
	r.json = append(r.json, digits...)
	r.text = append(r.text, digits...)
}

// isNumber reports whether digits are a JSON number. Databases format numbers
// plainly, so a full check is needed only where a character is not a digit; what
// can go wrong is NaN, Infinity, a leading zero and a bare point.
func isNumber(digits []byte) bool {
	rest := digits
	if len(rest) > 0 && rest[0] == '-' {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0] < '0' || rest[0] > '9' {
		return false
	}
	if len(rest) > 1 && rest[0] == '0' && rest[1] != '.' && rest[1]|0x20 != 'e' {
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
func (r *Row) Text(s string) {
	r.next()
	if len(s) > r.maxText {
		s = r.clip(s)
	}
	if plain(s) {
		r.json = append(r.json, '"')
		r.json = append(r.json, s...)
		r.json = append(r.json, '"')
		r.text = append(r.text, s...)
		return
	}
	r.json = appendQuoted(r.json, s)
	r.text = appendPlain(r.text, s)
}

// Bytes writes a text that is given as bytes.
func (r *Row) Bytes(s []byte) {
	if len(s) <= r.maxText && plain(s) {
		r.next()
		r.json = append(r.json, '"')
		r.json = append(r.json, s...)
		r.json = append(r.json, '"')
		r.text = append(r.text, s...)
		return
	}
	r.Text(string(s))
}

// clip cuts a text between two characters and appends its full length.
func (r *Row) clip(s string) string {
	r.clipped++
	n := r.maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "… (" + strconv.Itoa(len(s)) + " bytes in all)"
}

// Time writes a time in RFC 3339.
func (r *Row) Time(t time.Time) {
	r.next()
	start := len(r.json) + 1
	r.json = append(r.json, '"')
	r.json = t.AppendFormat(r.json, time.RFC3339Nano)
	r.text = append(r.text, r.json[start:]...)
	r.json = append(r.json, '"')
}

// Stamp writes a time that the database formatted as 2006-01-02 15:04:05.999+02
// in RFC 3339. Another format stays as it is.
func (r *Row) Stamp(s []byte) {
	if len(s) < 19 || s[10] != ' ' || s[4] != '-' || s[13] != ':' || bytes.IndexByte(s[11:], ' ') >= 0 {
		r.Bytes(s)
		return
	}
	b := append(r.scratch[:0], s...)
	b[10] = 'T'
	if sign := len(b) - 3; sign >= 19 && (b[sign] == '+' || b[sign] == '-') {
		b = append(b, ":00"...)
	}
	r.scratch = b
	r.Bytes(b)
}

// JSON writes a value that is JSON. A value that is too long or not valid JSON
// is written as a text.
func (r *Row) JSON(s []byte) {
	if len(s) > r.maxText || !json.Valid(s) {
		r.Bytes(s)
		return
	}
	r.next()
	r.json = append(r.json, s...)
	r.text = appendPlain(r.text, string(s))
}

// Blob writes binary data.
func (r *Row) Blob(s []byte) {
	r.next()
	size := len(s)
	if size > r.maxBlob {
		r.clipped++
		s = s[:r.maxBlob]
	}
	r.json = append(r.json, `{"base64":"`...)
	r.json = base64.StdEncoding.AppendEncode(r.json, s)
	r.json = append(r.json, `","bytes":`...)
	r.json = strconv.AppendInt(r.json, int64(size), 10)
	if len(s) < size {
		r.json = append(r.json, `,"clipped":true`...)
	}
	r.json = append(r.json, '}')
	r.text = append(r.text, '<')
	r.text = strconv.AppendInt(r.text, int64(size), 10)
	if size == 1 {
		r.text = append(r.text, " byte>"...)
	} else {
		r.text = append(r.text, " bytes>"...)
	}
}

// special marks the bytes that JSON or the table writes in another form.
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

// plain reports whether a text is the same in JSON and in the table.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if special[s[i]] {
			return false
		}
	}
	return true
}

const hex = "0123456789abcdef"

// appendQuoted appends a text as a JSON string.
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

// appendPlain appends a text for the table: on one line, with its bars escaped,
// since bars separate cells.
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

// decode decodes JSON and keeps the digits of its numbers.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}
