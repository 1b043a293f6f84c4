package edit

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"callgate/internal/app/node"
)

// The bounds of a text, as package node has them: the library takes time that
// grows with the square of each of these.
const (
	maxTokens = 10_000
	maxBlank  = 50
)

// document is a text and its tree.
//
// Of the library's positions only the lines are used, since its columns drift
// after quotes and escapes. What a line holds is found by reading it, and an
// edit is refused where the line does not hold what the tree says.
type document struct {
	*sourceText
	root ast.Node
	null bool // the file is written to be nothing: null or ~
}

// outline reads a text's structure. It reports whether that could be done;
// package app says why not.
func outline(data []byte) (d *document, ok bool) {
	d = &document{sourceText: newSourceText(data)}
	if len(data) > node.MaxBytes || d.blanks() > maxBlank {
		return nil, false
	}
	defer func() {
		if recover() != nil { // hostile text finds holes in every parser
			d, ok = nil, false
		}
	}()
	tokens := lexer.Tokenize(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(d.text))
	if len(tokens) > maxTokens || tokens.InvalidToken() != nil {
		return nil, false
	}
	for _, t := range tokens {
		if !d.note(t) {
			return nil, false
		}
	}
	file, err := parser.Parse(node.JoinColons(tokens), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, false
	}
	for _, doc := range file.Docs {
		if _, null := doc.Body.(*ast.NullNode); null {
			d.null = true
		} else if doc.Body != nil && d.root == nil {
			d.root = doc.Body
		}
	}
	return d, true
}
