package app

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"

	"callgate/tool"
)

// What a file may hold at most. The library's parser takes time or memory that
// grows with the square of each of these, but for the first.
const (
	maxBytes  = 1 << 20
	maxTokens = 10_000
	maxDepth  = 30
	maxKey    = 200 // bytes
	maxBlank  = 50  // empty lines in a row
	maxTabs   = 1000
)

// parse makes the text a tree, or reports why it is none and returns nil. The
// tree holds mappings, sequences and scalars only.
func (r *report) parse(data []byte) (root ast.Node) {
	text, ok := r.text(data)
	if !ok {
		return nil
	}
	defer func() {
		if p := recover(); p != nil { // hostile text finds holes in every parser
			root = nil
			r.fail(position{}, "look for unusual punctuation, and write it in a simpler way", "this is not YAML that can be read")
		}
	}()
	tokens, ok := r.tokens(text)
	if !ok {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if _, null := doc.Body.(*ast.NullNode); doc.Body != nil && !null {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		r.fail(position{}, "callgate init writes a file to start from", "the file is empty")
		return nil
	case len(bodies) > 1:
		r.fail(at(bodies[1]), "keep one app in one file", "a second YAML document starts here")
		return nil
	}
	return bodies[0]
}

// text checks the bytes, keeps the lines for quoting, and returns the text
// with plain line ends.
func (r *report) text(data []byte) (string, bool) {
	if len(data) > maxBytes {
		r.fail(position{}, "an app file is a page of settings; keep prompts and data in files of their own", "the file is larger than 1 MiB")
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
	r.lines = strings.Split(text, "\n")
	blank, tabs := 0, 0
	for i, line := range r.lines {
		if tabs += strings.Count(line, "\t"); tabs > maxTabs {
			r.fail(position{i + 1, 1}, "indent with spaces", "there are more than %d tabs up to here", maxTabs)
			return "", false
		}
		col := 0
		for offset, c := range line {
			col++
			if c == utf8.RuneError && !strings.HasPrefix(line[offset:], "\ufffd") {
				r.fail(position{i + 1, col}, "save the file as UTF-8", "a byte here is not UTF-8 text")
				return "", false
			}
			if unicode.IsControl(c) && c != '\t' || c == '\ufeff' {
				r.fail(position{i + 1, col}, "delete it", "an invisible control character (%U) stands here", c)
				return "", false
			}
		}
		if blank++; strings.TrimSpace(line) != "" {
			blank = 0
		}
		if blank > maxBlank {
			r.fail(position{i + 1, 1}, "delete the empty lines", "there are more than %d empty lines in a row", maxBlank)
			return "", false
		}
	}
	return text, true
}

// tokens cuts the text up and refuses what a tree may not hold.
func (r *report) tokens(text string) (token.Tokens, bool) {
	var s scanner.Scanner
	var tokens token.Tokens
	var g tokenGuard
	s.Init(text)
	for {
		some, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return tokens, true
		}
		for _, t := range some {
			if t.Type == token.InvalidType {
				r.syntaxAt(t, t.Error)
				return nil, false
			}
			if what, out := g.refuse(t); what != "" {
				r.fail(placeOf(t), out, "%s", what)
				return nil, false
			}
		}
		tokens.Add(some...)
	}
}

// tokenGuard watches tokens go by.
type tokenGuard struct {
	count   int
	flow    int   // brackets and braces that are open
	columns []int // where the blocks that are open start
	last    *token.Token
}

const ifText = "; if it is meant as text, put it in quotes"

// refuse says what is wrong with the next token, and the way out.
func (g *tokenGuard) refuse(t *token.Token) (what, out string) {
	switch t.Type {
	case token.CommentType:
		return "", ""
	case token.AnchorType:
		return "anchors (&name) are not allowed in an app file", "write the value out where it is needed" + ifText
	case token.AliasType:
		return "aliases (*name) are not allowed in an app file", `a star that stands for everything is written "*", in quotes; write other values out where they are needed`
	case token.MergeKeyType:
		return "merge keys (<<) are not allowed in an app file", "write the keys out where they are needed"
	case token.TagType:
		return "tags (!name) are not allowed in an app file", "delete the tag" + ifText
	case token.MappingKeyType:
		return "keys that start with ? are not allowed in an app file", "write key: value" + ifText
	case token.DirectiveType:
		return "directives (%NAME) are not allowed in an app file", "delete the line" + ifText
	case token.SequenceStartType, token.MappingStartType:
		g.flow++
	case token.SequenceEndType, token.MappingEndType:
		g.flow--
	case token.SequenceEntryType:
		g.open(t)
	case token.MappingValueType:
		if g.last != nil && len(g.last.Value) > maxKey {
			return "the key before this colon is too long", "shorten it" + ifText
		}
		if g.last != nil {
			g.open(g.last)
		}
	}
	g.count++
	g.last = t
	switch {
	case g.flow+len(g.columns) > maxDepth:
		return "lists and mappings are nested too deep here", "an app file needs no more than a few levels"
	case g.count > maxTokens:
		return "the file has too many keys and values", "an app file is a page of settings; keep data in files of its own"
	}
	return "", ""
}

// open notes that a block stands at a token's column, which ends those that
// stand further in.
func (g *tokenGuard) open(t *token.Token) {
	if g.flow > 0 {
		return
	}
	for len(g.columns) > 0 && g.columns[len(g.columns)-1] >= t.Position.Column {
		g.columns = g.columns[:len(g.columns)-1]
	}
	g.columns = append(g.columns, t.Position.Column)
}

// syntax reports what the parser said, in words that tell what to do.
func (r *report) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		r.fail(position{}, "check the indentation and the quotes", "this is not YAML: %s", tool.TruncateTo(err.Error(), maxText))
		return
	}
	r.syntaxAt(e.GetToken(), e.GetMessage())
}

// phrases turns the parser's messages into ours, by a part of each.
var phrases = []struct{ part, what, out string }{
	{"tab character", "a tab stands where YAML wants spaces", "indent with spaces, two for each level"},
	{`'\t'`, "a tab stands where YAML wants spaces", "indent with spaces, two for each level"},
	{"double-quoted", `this text has no closing "`, `add the closing "`},
	{"single-quoted", "this text has no closing '", "add the closing '; inside single quotes an apostrophe is written twice"},
	{"corresponding to", "this closes something that was never opened", "delete it, or put the text in quotes"},
	{"'}'", "this { has no closing }", "add the closing }, or write one key on each line"},
	{"']'", "this list has no closing ]", "add the closing ] and a comma between the items"},
	{"reserved character", "text cannot start with this character", "put the text in quotes"},
	{"escape character", `this \ escape is unknown`, `write \\ for a backslash, or use single quotes`},
	{"mapping value is not allowed", `a second "key:" starts here, or the next line is indented too far`, `put text that holds ": " in quotes, and line keys of one level up in one column`},
	{"value is not allowed in this context", "this does not fit what stands before it", "line keys of one level up in one column, start each item of a list with a dash, and write an apostrophe inside single quotes twice"},
	{"unexpected key name", "a key is missing here, or its colon", "write key: value"},
	{"non-map value", "this line has no colon among lines of key: value", "write key: value"},
}

func (r *report) syntaxAt(t *token.Token, message string) {
	where := placeOf(t)
	message = strings.ReplaceAll(message, "\t", `\t`)
	for _, p := range phrases {
		if strings.Contains(message, p.part) {
			r.fail(where, p.out, "%s", p.what)
			return
		}
	}
	r.fail(where, "check the indentation and the quotes here and on the line above", "this is not YAML: %s", tool.TruncateTo(message, maxText))
}

// at is where a node starts.
func at(n ast.Node) position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return at(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return at(n.Key)
	}
	return placeOf(n.GetToken())
}

func placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}
