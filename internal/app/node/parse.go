package node

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes is the size of a file at most.
const MaxBytes = 1 << 20

// The bounds of a file. The library's parser takes time or memory that grows
// with the square of each of these.
const (
	maxTokens = 10_000
	maxDepth  = 30
	maxKey    = 200 // bytes
	maxBlank  = 50  // empty lines in a row
	maxTabs   = 1000
)

// parse makes the text a tree, or reports why it is not one and returns nil. The
// tree holds mappings, sequences and scalars only.
func (r *Report) parse(data []byte) (root ast.Node) {
	text, ok := r.checked(data)
	if !ok {
		return nil
	}
	defer func() {
		if p := recover(); p != nil { // hostile text finds holes in every parser
			root = nil
			r.Fail(Position{}, "look for unusual punctuation, and write it in a simpler way",
				"this is not YAML that can be read")
		}
	}()
	tokens, ok := r.tokens(text)
	if !ok {
		return nil
	}
	file, err := parser.Parse(JoinColons(tokens), 0, parser.AllowDuplicateMapKey())
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
		r.Fail(Position{}, "callgate init writes a file to start from", "the file is empty")
		return nil
	case len(bodies) > 1:
		r.Fail(start(bodies[1]), "keep one app in one file", "a second YAML document starts here")
		return nil
	}
	return bodies[0]
}

// checked checks the bytes, keeps the lines for quoting, and returns the text with
// plain line ends.
func (r *Report) checked(data []byte) (string, bool) {
	if len(data) > MaxBytes {
		r.Fail(Position{}, "an app file is a page of settings; keep prompts and data in files of their own",
			"the file is larger than 1 MiB")
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := string(data)
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	r.lines = strings.Split(text, "\n")
	blank, tabs := 0, 0
	for i, line := range r.lines {
		if tabs += strings.Count(line, "\t"); tabs > maxTabs {
			r.Fail(Position{i + 1, 1}, "indent with spaces", "there are more than %d tabs up to here", maxTabs)
			return "", false
		}
		if !r.characters(i+1, line) {
			return "", false
		}
		if blank++; strings.TrimSpace(line) != "" {
			blank = 0
		}
		if blank > maxBlank {
			r.Fail(Position{i + 1, 1}, "delete the empty lines", "there are more than %d empty lines in a row", maxBlank)
			return "", false
		}
	}
	return text, true
}

// characters checks that a line is UTF-8 text without control characters.
func (r *Report) characters(number int, line string) bool {
	column := 0
	for offset, c := range line {
		column++
		if c == utf8.RuneError && !strings.HasPrefix(line[offset:], "\ufffd") {
			r.Fail(Position{number, column}, "save the file as UTF-8", "a byte here is not UTF-8 text")
			return false
		}
		if unicode.IsControl(c) && c != '\t' || c == '\ufeff' {
			r.Fail(Position{number, column}, "delete it", "an invisible control character (%U) stands here", c)
			return false
		}
	}
	return true
}

// tokens cuts the text up and refuses what a tree may not hold.
func (r *Report) tokens(text string) (token.Tokens, bool) {
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
			if what, remedy := g.refuse(t); what != "" {
				r.Fail(positionOf(t), remedy, "%s", what)
				return nil, false
			}
		}
		tokens.Add(some...)
	}
}
