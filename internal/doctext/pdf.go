package doctext

import (
	"strings"

	"callgate/internal/pdftext"
)

// pdf reads a PDF: a section for each page.
func (r *reader) pdf(content []byte) error {
	doc, err := pdftext.Read(r.ctx, content)
	if err != nil {
		return err
	}
	r.doc.Title = doc.Title
	for i, text := range doc.Pages {
		r.begin(Section{Unit: Page})
		p := paragraphs{r: r}
		for line := range strings.Lines(lines(text)) {
			if line = strings.TrimRight(line, " \t\n"); line == "" {
				p.endAt(i + 1)
				continue
			}
			p.lines = append(p.lines, line)
			if p.size += len(line); p.size > maxBlock/2 {
				p.endAt(i + 1)
			}
		}
		p.endAt(i + 1)
	}
	switch {
	case doc.Bad > 0:
		r.warn("%d of its %d pages could not be read", doc.Bad, doc.Count)
	case doc.Cut:
		r.warn("of its %d pages %d were read", doc.Count, len(doc.Pages))
	case len(r.doc.Sections)+len(r.section.Blocks) == 0:
		r.warn("it holds no text; its pages are probably pictures")
	}
	return nil
}

// endAt ends a block whose number is not that of a line.
func (p *paragraphs) endAt(number int) {
	if len(p.lines) > 0 {
		p.r.add(strings.Join(p.lines, "\n"), number, number)
	}
	p.lines, p.size = p.lines[:0], 0
}
