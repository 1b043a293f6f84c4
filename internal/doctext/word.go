package doctext

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// word reads a document of Word: a section for each heading, a block for each paragraph or row of
// a table. It has no lines and no pages, so places are paragraphs, counted from the beginning.
func (a *archived) word() error {
	a.title()
	w := wordText{archived: a, styles: a.headingStyles()}
	a.begin(Section{Unit: Paragraph})
	if err := a.walk("word/document.xml", w.visit); err != nil {
		return a.missing(err)
	}
	w.end()
	return nil
}

// missing says that the heart of a document is not there.
func (a *archived) missing(err error) error {
	if err == errAbsent {
		return a.invalid("it is an archive, and not one of its kind").WithHint("it may have the wrong ending")
	}
	return err
}

// headingStyles are the levels of styles that are headings, by their IDs: a style's ID may be in
// any language, its name is in English.
func (a *archived) headingStyles() map[string]int {
	levels, id := map[string]int{}, ""
	_ = a.walk("word/styles.xml", func(t xml.Token) bool {
		if e, ok := t.(xml.StartElement); ok {
			switch e.Name.Local {
			case "style":
				id = attr(e, "styleId")
			case "name":
				if level := headingLevel(attr(e, "val")); level > 0 && id != "" {
					levels[id] = level
				}
			case "outlineLvl":
				if n, err := strconv.Atoi(attr(e, "val")); err == nil && n >= 0 && n < 9 && id != "" {
					levels[id] = n + 1
				}
			}
		}
		return len(levels) < maxFiles
	})
	return levels
}

// headingLevel is the level that the name of a style gives; 0: it is no heading.
func headingLevel(name string) int {
	name = strings.ToLower(strings.ReplaceAll(name, " ", ""))
	if name == "title" {
		return 1
	}
	if digit, ok := strings.CutPrefix(name, "heading"); ok && len(digit) == 1 && digit >= "1" && digit <= "9" {
		return int(digit[0]-'0') + 1
	}
	return 0
}

// wordText is what is known while a document is read.
type wordText struct {
	*archived
	styles  map[string]int
	outline outline

	number  int // of the paragraph
	b       strings.Builder
	reading bool // inside of a text
	level   int  // of the heading that the paragraph is
	cells   int  // how deep in tables
	first   int  // of the row
	deleted int  // inside of a text that a change took out
}

func (w *wordText) visit(t xml.Token) bool {
	switch t := t.(type) {
	case xml.StartElement:
		w.open(t)
	case xml.EndElement:
		w.close(t.Name.Local)
	case xml.CharData:
		if w.reading && w.deleted == 0 {
			w.b.Write(t)
		}
	}
	return w.b.Len() < w.limits.Text
}

func (w *wordText) open(e xml.StartElement) {
	switch e.Name.Local {
	case "p":
		w.number++
		w.level = 0
		if w.b.Len() == 0 {
			w.first = w.number
		}
	case "pStyle":
		style := attr(e, "val")
		if w.level = w.styles[style]; w.level == 0 {
			w.level = headingLevel(style)
		}
	case "t":
		w.reading = true
	case "tab":
		w.b.WriteByte('\t')
	case "br", "cr":
		w.b.WriteByte('\n')
	case "tr":
		w.cells++
	case "del", "moveFrom":
		w.deleted++
	}
}

func (w *wordText) close(name string) {
	switch name {
	case "t":
		w.reading = false
	case "p":
		if w.cells == 0 {
			w.end()
		} else if w.b.Len() > 0 {
			w.b.WriteByte(' ')
		}
	case "tc":
		w.b.WriteString("| ")
	case "tr":
		if w.cells--; w.cells == 0 {
			row := strings.TrimRight(w.b.String(), " |")
			w.b.Reset()
			w.add(row, w.first, w.number)
		}
	case "del", "moveFrom":
		w.deleted = max(0, w.deleted-1)
	}
}

// end ends a paragraph.
func (w *wordText) end() {
	text := w.b.String()
	w.b.Reset()
	if strings.TrimSpace(text) == "" {
		return
	}
	if w.level > 0 {
		w.titled(text)
		w.begin(Section{Headings: w.outline.enter(w.level, text), Unit: Paragraph})
	}
	w.add(text, w.number, w.number)
	w.level = 0
}
