package library

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/doctext"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/tool"
)

// Extractor says how files of a pattern are divided: at the lines that a definition matches.
type Extractor struct {
	Pattern    string   `json:"pattern"`    // of paths, in the folder
	Definition string   `json:"definition"` // a regular expression, whose first group is the name
	Comments   []string `json:"comments,omitempty"`
}

// hash tells one extractor from another.
func (x Extractor) hash() string {
	return strings.Join(append([]string{x.Definition}, x.Comments...), "\x00")
}

// compiled is an extractor that can be used.
type compiled struct {
	Extractor
	pattern *pathglob.Pattern
	doctext doctext.Extractor
}

// Compile checks an extractor. Errors name op.
func (x Extractor) Compile(op string) (c compiled, err error) {
	c.Extractor = x
	if c.pattern, err = pathglob.Parse(x.Pattern); err != nil {
		return c, tool.Errorf(op, tool.Invalid, "the pattern cannot be read: %w", err).WithHint("as **/*.tf")
	}
	definition, err := regexp.Compile(x.Definition)
	if err != nil {
		return c, tool.Errorf(op, tool.Invalid, "the definition is no regular expression: %w", err).
			WithHint(`as ^resource "\w+" "(\w+)", in the syntax of Go (RE2)`)
	}
	if definition.MatchString("") {
		return c, tool.Errorf(op, tool.Invalid, "the definition matches an empty line, and so every line").
			WithHint(`let it begin with ^ and a word of the language, as ^resource "\w+" "(\w+)"`)
	}
	c.doctext = doctext.Extractor{Definition: definition, Comments: x.Comments}
	return c, nil
}

// reading is how a file of a folder is read.
func (w *writer) reading(path, name string, content []byte) source {
	s := sourceOf(name, content, func(ctx context.Context) (*doctext.Document, error) {
		return doctext.Read(ctx, name, content, w.limits())
	})
	i := slices.IndexFunc(w.extractors, func(c compiled) bool { return c.pattern.Matches(path, true) })
	if i < 0 {
		return s
	}
	c := w.extractors[i]
	s.hash += " " + c.hash()
	s.read = func(ctx context.Context) (*doctext.Document, error) {
		return doctext.ReadWith(ctx, name, content, w.limits(), c.doctext)
	}
	return s
}

// extracts reports whether there is an extractor for a path of the folder.
func (w *writer) extracts(path string) bool {
	return slices.ContainsFunc(w.extractors, func(c compiled) bool { return c.pattern.Matches(path, true) })
}
