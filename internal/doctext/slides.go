package doctext

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// slides reads a presentation of PowerPoint: a section for each slide, with its notes.
func (a *archived) slides() error {
	a.title()
	const presentation = "ppt/presentation.xml"
	targets := a.relations(presentation)
	var files []string
	err := a.walk(presentation, func(t xml.Token) bool {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "sldId" {
			for _, at := range e.Attr {
				if at.Name.Local == "id" && targets[at.Value] != "" { // beside an id that is a number
					files = append(files, targets[at.Value])
				}
			}
		}
		return len(files) < maxFiles
	})
	if err != nil {
		return a.missing(err)
	}
	for i, file := range files {
		if a.full() {
			break
		}
		if err := a.slide(file, i+1); err != nil && err != errAbsent {
			return err
		}
	}
	return nil
}

func (a *archived) slide(file string, number int) error {
	a.begin(Section{Headings: []string{fmt.Sprintf("Slide %d", number)}, Unit: Slide})
	title, err := a.drawing(file, number)
	if err != nil {
		return err
	}
	if title != "" {
		a.section.Headings = []string{oneLine(title)}
	}
	for _, target := range a.relations(file) {
		if strings.Contains(target, "notesSlides/") {
			if _, err := a.drawing(target, number); err != nil && err != errAbsent {
				return err
			}
		}
	}
	return nil
}

// drawing reads the texts of a slide, and returns its title.
func (a *archived) drawing(file string, number int) (title string, err error) {
	var b strings.Builder
	reading, titled, field := false, false, false
	err = a.walk(file, func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "sp":
				titled, field = false, false
			case "ph":
				kind := attr(t, "type")
				titled = kind == "title" || kind == "ctrTitle"
				field = kind == "sldNum" || kind == "dt" || kind == "ftr"
			case "t":
				reading = true
			case "br":
				b.WriteByte('\n')
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				reading = false
			case "tc":
				b.WriteString(" | ")
			case "p":
				text := b.String()
				b.Reset()
				if titled && title == "" {
					title = text
				}
				return a.add(text, number, number)
			}
		case xml.CharData:
			if reading && !field {
				b.Write(t)
			}
		}
		return true
	})
	return title, err
}
