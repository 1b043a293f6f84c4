package doctext

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Chunk is a part of a document that is found and cited by itself.
type Chunk struct {
	Headings    []string
	Part        string
	Unit        Unit
	First, Last int
	Text        string
}

// Place says where a chunk stands, in words: lines 3-9, page 2, sheet Prices, rows 2-40.
func (c Chunk) Place() string { return PlaceOf(c.Unit, c.Part, c.First, c.Last) }

// PlaceOf says in words where a text stands.
func PlaceOf(unit Unit, part string, first, last int) string {
	place := fmt.Sprintf("%s %d", unit, first)
	if last > first {
		place = fmt.Sprintf("%ss %d-%d", unit, first, last)
	}
	switch {
	case part == "":
		return place
	case unit == Key:
		return part
	case unit == Row:
		return "sheet " + part + ", " + place
	default:
		return part + ", " + place
	}
}

// Chunks divides a document into chunks of about size bytes. Chunks end where sections end, and
// between blocks where that is possible. Small definitions of code are put together.
func (d *Document) Chunks(size int) []Chunk {
	var all []Chunk
	for i, s := range d.Sections {
		if d.headsNext(i) {
			continue
		}
		part := packed(s, size)
		if n := len(all); d.Format == Code && n > 0 && len(part) == 1 && len(all[n-1].Text)+len(part[0].Text) < size &&
			part[0].First-all[n-1].Last <= 2 {
			all[n-1].Text += "\n\n" + part[0].Text
			all[n-1].Last = part[0].Last
			continue
		}
		all = append(all, part...)
	}
	return all
}

// headsNext reports whether a section is nothing but a heading that the next section is under.
func (d *Document) headsNext(i int) bool {
	s := d.Sections[i]
	if len(s.Blocks) != 1 || len(s.Headings) == 0 || i+1 == len(d.Sections) {
		return false
	}
	next := d.Sections[i+1].Headings
	return oneLine(s.Blocks[0].Text) == s.Headings[len(s.Headings)-1] && len(next) > len(s.Headings) &&
		slices.Equal(next[:len(s.Headings)], s.Headings)
}

// packed puts the blocks of a section into chunks.
func packed(s Section, size int) (all []Chunk) {
	c := Chunk{Headings: s.Headings, Part: s.Part, Unit: s.Unit}
	var b strings.Builder
	end := func() {
		if b.Len() > 0 {
			c.Text = b.String()
			if s.Lead != "" && !strings.HasPrefix(c.Text, s.Lead) {
				c.Text = s.Lead + "\n" + c.Text
			}
			all = append(all, c)
		}
		b.Reset()
	}
	between := "\n\n"
	if s.Unit == Row || s.Lead != "" {
		between = "\n"
	}
	for _, block := range s.Blocks {
		for _, piece := range pieces(block, size, s.Unit == Line && s.Lead == "") {
			if b.Len() > 0 && b.Len()+len(piece.Text) > size {
				end()
			}
			if b.Len() == 0 {
				c.First = piece.First
			} else {
				b.WriteString(between)
			}
			b.WriteString(piece.Text)
			c.Last = piece.Last
		}
	}
	end()
	return all
}

// pieces divides a block that is longer than a chunk: between lines, then between words. Where
// the lines of the block are those of the document, each piece has its own.
func pieces(b Block, size int, numbered bool) (all []Block) {
	if len(b.Text) <= size {
		return []Block{b}
	}
	numbered = numbered && strings.Count(b.Text, "\n") == b.Last-b.First
	piece := Block{First: b.First, Last: b.Last}
	line := b.First
	for text := range strings.Lines(b.Text) {
		for len(text) > 0 {
			part := text[:cutAt(text, size)]
			text = text[len(part):]
			if piece.Text != "" && len(piece.Text)+len(part) > size {
				all = append(all, trimmed(piece))
				piece.Text = ""
			}
			if numbered && piece.Text == "" {
				piece.First = line
			}
			if piece.Text += part; numbered {
				piece.Last = line
			}
		}
		line++
	}
	return append(all, trimmed(piece))
}

func trimmed(b Block) Block {
	b.Text = strings.TrimRight(b.Text, "\n")
	return b
}

// cutAt is where a text that is longer than size is divided: behind a space, or between two characters.
func cutAt(text string, size int) int {
	if len(text) <= size {
		return len(text)
	}
	if at := strings.LastIndexByte(text[:size], ' '); at > size/2 {
		return at + 1
	}
	at := size
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return max(at, 1)
}
