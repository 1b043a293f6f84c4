package index

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/rag/chunkstore"
	"callgate/tool"
)

//go:embed relations.md
var relationsDoc string

const relationsInput = `{
  "type": "object",
  "properties": {
    "document": {"type": "string", "minLength": 1,
      "description": "The document, by its path: which documents it names, and which name it."},
    "symbol": {"type": "string", "minLength": 2, "maxLength": 200,
      "description": "A name of code or a term: where it is defined, and where it is mentioned."},
    ` + sourceProperty + `
  },
  "additionalProperties": false
}`

const relationsOutput = `{
  "type": "object",
  "properties": {
    "names": {"type": "array", "items": {"type": "string"}, "description": "Documents that the document names."},
    "named_by": {"type": "array", "items": {"type": "string"}, "description": "Documents that name the document."},
    "defined": {"type": "array", "items": {"type": "string"}, "description": "Passages under a heading or definition with the symbol."},
    "mentioned": {"type": "array", "items": {"type": "string"}, "description": "Other passages with the symbol."},
    "truncated": {"type": "boolean"}
  },
  "required": ["truncated"]
}`

// maxRelations bounds each list.
const maxRelations = 100

// related is what a program is told of relations.
type related struct {
	Names     []string `json:"names,omitempty"`
	NamedBy   []string `json:"named_by,omitempty"`
	Defined   []string `json:"defined,omitempty"`
	Mentioned []string `json:"mentioned,omitempty"`
	Truncated bool     `json:"truncated"`
}

type relationArgs struct {
	Document string `json:"document"`
	Symbol   string `json:"symbol"`
	Source   string `json:"source"`
}

func (s *service) relationsTool() module.Definition {
	return module.Definition{
		Name: "relations", Doc: relationsDoc, Input: relationsInput, Output: relationsOutput,
		Examples: []tool.Example{
			module.Example("of a page", `{"document": "docs/guides/undo.md"}`),
			module.Example("of a function", `{"symbol": "NewPool", "source": "code"}`),
		},
		Aliases: []string{
			"find_references", "what links here", "who mentions this", "where is this defined", "backlinks",
			"qui mentionne ceci", "wer erwähnt das", "quién menciona esto", "引用关系", "кто ссылается",
		},
		Tags: tags, Runtime: reads(), Handler: handler(s, "relations", false, relations),
	}
}

func relations(ctx context.Context, c *indexCall, in relationArgs) (*tool.Result, error) {
	if (in.Document == "") == (in.Symbol == "") {
		return nil, tool.Errorf(c.op, tool.Invalid, "name a document or a symbol, one of them").
			WithHint(`{"document": "docs/README.md"}`)
	}
	bases, err := c.sources(ctx, in.Source)
	if err != nil {
		return nil, err
	}
	var found related
	for _, base := range bases {
		if in.Symbol != "" {
			err = c.symbol(ctx, base, in.Symbol, &found)
		} else {
			err = c.document(ctx, base, bases, in.Document, &found)
		}
		if err != nil {
			return nil, err
		}
	}
	if in.Document != "" && found.Names == nil && found.NamedBy == nil && !c.has(ctx, bases, in.Document) {
		return nil, c.noDocument(in.Document)
	}
	return found.result()
}

func (r *related) result() (*tool.Result, error) {
	var b strings.Builder
	total := 0
	for _, l := range []struct {
		words string
		list  *[]string
	}{{"it names", &r.Names}, {"named by", &r.NamedBy}, {"defined in", &r.Defined}, {"mentioned in", &r.Mentioned}} {
		if len(*l.list) > maxRelations {
			*l.list, r.Truncated = (*l.list)[:maxRelations], true
		}
		if total += len(*l.list); len(*l.list) > 0 {
			b.WriteString(l.words + ":\n  " + strings.Join(*l.list, "\n  ") + "\n")
		}
	}
	result, err := tool.OK(fmt.Sprintf("%d relations", total), r)
	if err == nil && b.Len() > 0 {
		result.Content = []tool.Content{tool.Text(fence.Follows + fence.Data(strings.TrimSpace(b.String())))}
	}
	return result, err
}

func (c *indexCall) has(ctx context.Context, bases []chunkstore.Base, document string) bool {
	for _, base := range bases {
		if chunks, err := c.OfDocument(ctx, base, document); err == nil && len(chunks) > 0 {
			return true
		}
	}
	return false
}

// symbol finds where a name is defined and mentioned.
func (c *indexCall) symbol(ctx context.Context, base chunkstore.Base, symbol string, r *related) error {
	chunks, err := c.Containing(ctx, base, symbol, 20*maxRelations)
	if err != nil {
		return err
	}
	for _, k := range chunks {
		last := ""
		if n := len(k.Headings); n > 0 {
			last = k.Headings[n-1]
		}
		switch {
		case mentions(last, symbol):
			r.Defined = append(r.Defined, lineOf(k))
		case mentions(k.Text, symbol):
			r.Mentioned = append(r.Mentioned, lineOf(k))
		}
	}
	return nil
}

// document finds which documents of a base name a document, and which of all it names.
func (c *indexCall) document(
	ctx context.Context, base chunkstore.Base, bases []chunkstore.Base, name string, r *related,
) error {
	mine, err := c.OfDocument(ctx, base, name)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, k := range mine {
		text.WriteString(k.Text + "\n")
	}
	times := map[string]int{} // how many documents have a file name
	var all []string
	for _, b := range bases {
		documents, err := c.Documents(ctx, b)
		if err != nil {
			return err
		}
		for _, d := range documents {
			all = append(all, d.Name)
			times[path.Base(d.Name)]++
		}
	}
	for _, other := range all {
		if other != name && mentions(text.String(), shortest(other, times)) && !slices.Contains(r.Names, other) {
			r.Names = append(r.Names, other)
		}
	}
	wanted := shortest(name, times)
	chunks, err := c.Containing(ctx, base, wanted, 20*maxRelations)
	for _, k := range chunks {
		if k.Document != name && mentions(k.Text, wanted) && !slices.Contains(r.NamedBy, k.Document) {
			r.NamedBy = append(r.NamedBy, k.Document)
		}
	}
	return err
}

// shortest is how a document is named: by its file name, or with its folder where others have the same.
func shortest(name string, times map[string]int) string {
	base := path.Base(name)
	if times[base] <= 1 {
		return base
	}
	return path.Join(path.Base(path.Dir(name)), base)
}

// mentions reports whether a text has a word in it, and not only as a part of a longer one.
func mentions(text, word string) bool {
	for from := 0; word != ""; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = at + len(word)
	}
	return false
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
