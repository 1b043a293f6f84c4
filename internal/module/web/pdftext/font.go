package pdftext

import (
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/charmap"
)

// fontBook keeps the fonts of a file, by how they are defined.
type fontBook map[string]*font

// font is what is known of a font: what its codes mean, and how wide they are.
// Nil is a font of which nothing is known.
type font struct {
	encoding pdf.TextEncoding
	widths   map[int]float64 // of codes, in letters' heights; nil where nobody says
	usual    float64         // of the others
	bytes    int             // of a code
}

// named finds a font of a page, and reads it once.
func (b fontBook) named(resources pdf.Value, name string) *font {
	v := resources.Key("Font").Key(name)
	id := name + " " + v.String()
	if len(id) > 4096 {
		id = id[:4096]
	}
	if f, ok := b[id]; ok {
		return f
	}
	own := pdf.Font{V: v}
	f := &font{encoding: own.Encoder(), usual: 0.5, bytes: 1}
	if v.Key("Subtype").Name() == "Type0" {
		f.bytes = 2
		if v.Key("ToUnicode").Kind() != pdf.Stream {
			f.encoding = noEncoding{} // the numbers of its letters mean nothing to anybody
		}
		f.composite(v.Key("DescendantFonts").Index(0))
	} else if wide := own.Widths(); len(wide) > 0 {
		f.widths = make(map[int]float64, len(wide))
		for i, n := range wide {
			f.widths[own.FirstChar()+i] = n / 1000
		}
	}
	if v.Key("Encoding").Kind() == pdf.Dict && f.bytes == 1 {
		f.encoding = tableOf(f.encoding)
	}
	b[id] = f
	return f
}

// maxCode is the last code of a font of two bytes.
const maxCode = 1<<16 - 1

// composite reads the widths of a font of two bytes: first [w w w], for codes
// one after the other, or first last w, for a range of them.
func (f *font) composite(v pdf.Value) {
	f.widths = map[int]float64{}
	if f.usual = 1; v.Key("DW").Kind() != pdf.Null {
		f.usual = v.Key("DW").Float64() / 1000
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
		wide := list.Index(i+2).Float64() / 1000
		for code := max(first, 0); code <= min(int(second.Int64()), maxCode); code++ {
			f.widths[code] = wide
		}
		i += 3
	}
}

var ligatures = strings.NewReplacer("\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st")

// decode is what codes mean, without what cannot be shown.
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

// width is how far codes reach, in letters' heights. Where the font does not
// tell, letters are taken for half as wide as they are high.
func (f *font) width(raw, text string) (total float64) {
	if f == nil || f.widths == nil {
		return 0.5 * float64(utf8.RuneCountInString(text))
	}
	for ; len(raw) >= f.bytes; raw = raw[f.bytes:] {
		code := int(raw[0])
		if f.bytes == 2 {
			code = code<<8 | int(raw[1])
		}
		if wide, ok := f.widths[code]; ok {
			total += wide
		} else {
			total += f.usual
		}
	}
	return total
}

// table is an encoding of single bytes that was looked up once: the library's
// own looks through a list for each letter.
type table [256]string

// tableOf looks an encoding up. What it leaves as it is has the meaning that it
// has on most machines.
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

// Decode looks up each byte.
func (t *table) Decode(raw string) string {
	var b strings.Builder
	for _, c := range []byte(raw) {
		b.WriteString(t[c])
	}
	return b.String()
}

// noEncoding is the encoding of what cannot be read.
type noEncoding struct{}

// Decode gives nothing.
func (noEncoding) Decode(string) string { return "" }
