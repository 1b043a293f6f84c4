package search

import (
	"crypto/sha256"
	"strings"
	"sync"

	"callgate/internal/search/lexical"
	"callgate/internal/search/secondlook"
	"callgate/tool"
)

// key is a hash of what search reads of a tool: equal keys, equal documents.
type key [16]byte

// document is a tool with its keys.
type document struct {
	key  key // of all that search reads
	text key // of what the row is computed from: a tool without examples has equal keys
	tool *tool.Tool
	seen *secondlook.Tool // what the second look read of it
}

// maxText limits the part of a description that is embedded: its beginning says
// what the tool does.
const maxText = 2000

// hashed are the buffers of what is hashed of a tool, for reuse.
var hashed = sync.Pool{New: func() any { return new([]byte) }}

// newDocument computes the key of a tool, without reading its schema.
func newDocument(t *tool.Tool) document {
	buf := hashed.Get().(*[]byte)
	defer hashed.Put(buf)
	all := (*buf)[:0]
	part := func(s string) { all = append(append(all, s...), 0) }
	part(t.ID.Dotted())
	part(t.Spec.Short)
	part(t.Spec.Description)
	all = append(append(all, t.Spec.Input...), 0)
	for _, s := range t.Spec.Aliases {
		part(s)
	}
	all = append(all, 1)
	for _, s := range t.Spec.Tags {
		part(s)
	}
	part(string(t.Runtime.SideEffect))
	sum := sha256.Sum256(all)
	d := document{key: key(sum[:16]), text: key(sum[:16]), tool: t, seen: new(secondlook.Tool)}
	if own := ownExamples(t); len(own) > 0 {
		for _, s := range own {
			part(s)
		}
		sum = sha256.Sum256(all)
		d.key = key(sum[:16])
	}
	*buf = all
	return d
}

// lexical returns the document for the keyword half.
func (d document) lexical() lexical.Doc {
	t := d.tool
	doc := lexical.Doc{
		Name: t.ID.Dotted(), Short: t.Spec.Short, Aliases: t.Spec.Aliases, Tags: t.Spec.Tags,
		Description: t.Spec.Description, Params: params(t.Spec.Input),
	}
	if e := t.Runtime.SideEffect; e != "" {
		doc.Effects = []string{string(e)}
	}
	return doc
}

// texts returns what is embedded: the text of the whole tool, and its name alone.
func (d document) texts() (whole, name string) {
	t := d.tool
	name = strings.ReplaceAll(t.ID.Dotted(), ".", " ")
	var b strings.Builder
	b.WriteString(name)
	b.WriteString(". ")
	b.WriteString(tool.TruncateTo(t.Spec.Description, maxText))
	for _, s := range t.Spec.Aliases {
		b.WriteString(". ")
		b.WriteString(s)
	}
	for _, s := range t.Spec.Tags {
		b.WriteString(". ")
		b.WriteString(s)
	}
	return b.String(), name
}

// looked returns what the second look reads.
func (d document) looked() secondlook.Texts {
	list := params(d.tool.Spec.Input)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	name := strings.ReplaceAll(d.tool.ID.Dotted(), ".", " ")
	return secondlook.Texts{Name: name, Description: d.tool.Spec.Description, Params: names}
}
