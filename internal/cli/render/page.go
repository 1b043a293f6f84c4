package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"callgate/internal/cli/text"
)

// page gathers the text of one page.
type page struct {
	Style
	bytes.Buffer
}

// field is one line of a page: a name and a value.
type field struct{ name, value string }

// printf writes formatted text.
func (p *page) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// fields writes one field on each line; empty ones are left out.
func (p *page) fields(list ...field) {
	widest := 0
	for _, f := range list {
		if f.value != "" {
			widest = max(widest, len(f.name))
		}
	}
	for _, f := range list {
		if f.value != "" {
			p.printf("  %s%s  %s\n", p.Faint(f.name), strings.Repeat(" ", widest-len(f.name)), f.value)
		}
	}
}

// block writes a JSON value under its name.
func (p *page) block(name string, data []byte) {
	if len(data) == 0 {
		return
	}
	p.printf("  %s\n", p.Faint(name))
	p.indent("    ", text.JSON(data))
}

// indent writes text safely, each line after a margin.
func (p *page) indent(margin, words string) {
	for line := range strings.Lines(text.Safe(strings.TrimRight(words, "\n"))) {
		p.WriteString(strings.TrimRight(margin+strings.TrimRight(line, "\n"), " "))
		p.WriteByte('\n')
	}
}

// writeTo writes the page.
func (p *page) writeTo(w io.Writer) error {
	_, err := w.Write(p.Bytes())
	return err
}
