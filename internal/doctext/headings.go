package doctext

import "slices"

// outline is the headings above a place of a document.
type outline struct {
	levels []int
	titles []string
}

// maxOutline bounds the headings above a place: the outermost are kept.
const maxOutline = 8

// enter takes in a heading of a level, and returns it with those above it.
func (o *outline) enter(level int, title string) []string {
	n := len(o.levels)
	for n > 0 && o.levels[n-1] >= level {
		n--
	}
	n = min(n, maxOutline-1)
	o.levels, o.titles = append(o.levels[:n:n], level), append(o.titles[:n:n], oneLine(title))
	return slices.Clone(o.titles)
}

// title is the first heading.
func (r *reader) titled(text string) {
	if r.doc.Title == "" {
		r.doc.Title = text
	}
}
