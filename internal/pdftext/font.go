package pdftext

import (
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/charmap"
)

// fontCache holds the fonts of a file, by their definitions.
type fontCache map[string]*font

// font holds what the codes of a font mean, and how wide they are. A nil font
// is unknown. Widths are measured in heights of a letter.
type font struct {
	encoding     pdf.TextEncoding
	widths       map[int]float64 // by code; nil: the font does not say
	defaultWidth float64         // of the other codes
	bytes        int             // in a code
}

// get returns a font of a page.
func (c fontCache) get(resources pdf.Value, name string) *font {
	v := resources.Key("Font").Key(name)
	id := name + " " + v.String()
	if len(id) > 4096 {
		id = id[:4096]
	}
	if f, ok := c[id]; ok {
		return f
	}
	own := pdf.Font{V: v}
	f := &font{encoding: own.Encoder(), defaultWidth: 0.5, bytes: 1}
	if v.Key("Subtype").Name() == "Type0" {
		f.bytes = 2
		if v.Key("ToUnicode").Kind() != pdf.Stream {
			f.encoding = noEncoding{} // the numbers of its letters have no meaning outside the font
		}
		f.readWidths(v.Key("DescendantFonts").Index(0))
	} else if widths := own.Widths(); len(widths) > 0 {
		f.widths = make(map[int]float64, len(widths))
		for i, width := range widths {
			f.widths[own.FirstChar()+i] = width / 1000
		}
	}
	if v.Key("Encoding").Kind() == pdf.Dict && f.bytes == 1 {
		f.encoding = tableOf(f.encoding)
	}
	c[id] = f
	return f
}

// maxCode is the last code of two bytes.
const maxCode = 1<<16 - 1

// readWidths reads the widths of a font with codes of two bytes. Its list holds
// a code and widths for it and the codes after it, as in 10 [w w w], or a range
// of codes and their width, as in 10 20 w.
func (f *font) readWidths(v pdf.Value) {
	f.widths = map[int]float64{}
	if f.defaultWidth = 1; v.Key("DW").Kind() != pdf.Null {
		f.defaultWidth = v.Key("DW").Float64() / 1000
	}
	list := v.Key("W")
	for i := 0; i+1 < list.Len(); {
		first, second := int(list.Index(i).Int64()), list.Index(i+1)
		if second.Kind() == pdf.Array {
			for j := range min(second.Len(), maxCode) {
				f.widths[first+j] = second.Index(j).Float64() / 1000
			}
			i += 2
			continue
		}
		width := list.Index(i+2).Float64() / 1000
		for code := max(first, 0); code <= min(int(second.Int64()), maxCode); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

var ligatures = strings.NewReplacer("\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl",
	"\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st")

// decode returns the text of codes, without characters that cannot be shown.
func (f *font) decode(raw string) string {
	if f == nil {
		return ""
	}
	return ligatures.Replace(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' {
			return -1
		}
		return r
	}, f.encoding.Decode(raw)))
}

// width returns the width of codes. Without widths in the font, letters count
// as half as wide as they are high.
func (f *font) width(raw, text string) (total float64) {
	if f == nil || f.widths == nil {
		return 0.5 * float64(utf8.RuneCountInString(text))
	}
	for ; len(raw) >= f.bytes; raw = raw[f.bytes:] {
		code := int(raw[0])
		if f.bytes == 2 {
			code = code<<8 | int(raw[1])
		}
		if width, ok := f.widths[code]; ok {
			total += width
		} else {
			total += f.defaultWidth
		}
	}
	return total
}

// table is an encoding of single bytes. The library's own encoding searches a
// list for each letter.
type table [256]string

// tableOf makes a table of an encoding. Bytes that the encoding does not define
// are read as Windows-1252.
func tableOf(e pdf.TextEncoding) *table {
	var t table
	for i := range t {
		t[i] = e.Decode(string([]byte{byte(i)}))
		if i >= 0x80 && t[i] == string(rune(i)) {
			t[i] = string(charmap.Windows1252.DecodeByte(byte(i)))
		}
	}
	return &t
}

// Decode returns the text of bytes.
func (t *table) Decode(raw string) string {
	var b strings.Builder
	for _, c := range []byte(raw) {
		b.WriteString(t[c])
	}
	return b.String()
}

// noEncoding is the encoding of codes without a meaning.
type noEncoding struct{}

// Decode returns no text.
func (noEncoding) Decode(string) string { return "" }
