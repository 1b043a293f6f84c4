package openapi

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"

	"callgate/internal/app/node"
	"callgate/internal/source/openapi/inputschema"
	"callgate/internal/source/openapi/textsize"
	"callgate/tool"
)

// The bounds of a document's text. They are kept before it is parsed, because a parser that runs out
// of memory ends the kernel.
const (
	maxDepth  = 200       // of lists and mappings
	maxTokens = 1_000_000 // of YAML, each some 500 bytes of memory when it is parsed
	maxSigns  = 2_000_000 // of punctuation in YAML: the scanner makes all tokens at once
	maxValues = 4_000_000 // of JSON
	maxReach  = 5_000_000 // mappings below all references, each counted again: the library goes through all
	maxCost   = 512 << 20 // of YAML: see [node.Nesting.Cost]
)

// tooDeep is the error for a document that nests more than it may.
func tooDeep(place, at string) *tool.Error {
	return wrong(place, at, "it is nested more than %d levels deep", maxDepth).
		WithHint("use $ref to a component in place of nesting")
}

// tooLong is the error for YAML that would take too much memory.
func tooLong(place, at string) *tool.Error {
	return wrong(place, at, "it has more keys and values than can be read of YAML, or longer keys").
		WithHint("convert it to JSON, which may have more")
}

// scanYAML cuts a text into tokens, as long as the parser can take them.
func scanYAML(place string, data []byte) (token.Tokens, error) {
	if textsize.Signs(data) > maxSigns {
		return nil, tooLong(place, "")
	}
	var s scanner.Scanner
	var tokens token.Tokens
	var nesting node.Nesting
	count, documents := 0, 0
	s.Init(string(data))
	for {
		some, err := s.Scan()
		if errors.Is(err, io.EOF) {
			return tokens, nil
		}
		for _, t := range some {
			if t.Type == token.CommentType {
				continue
			}
			if t.Type == token.DocumentHeaderType {
				documents++
			}
			count++
			nesting.Add(t)
			if nesting.Depth() > maxDepth {
				return nil, tooDeep(place, line(t))
			}
			if documents > 1 {
				return nil, wrong(place, line(t), "a second document begins there").WithHint("keep one document in a file")
			}
			if count > maxTokens || nesting.Cost() > maxCost {
				return nil, tooLong(place, line(t))
			}
		}
		tokens.Add(some...)
	}
}

func line(t *token.Token) string { return fmt.Sprintf("line %d", t.Position.Line) }

// limitJSON refuses a text that would be more than the kernel can hold. What is no JSON is left to the decoder.
func limitJSON(place string, data []byte) error {
	switch at, depth, values := textsize.JSON(data, maxDepth, maxValues); {
	case depth > maxDepth:
		return tooDeep(place, fmt.Sprintf("line %d", at))
	case values > maxValues:
		return wrong(place, fmt.Sprintf("line %d", at), "it has more than %d values", maxValues).
			WithHint("leave out the operations that are not needed")
	}
	return nil
}

// outside looks for what a document refers to outside of itself.
type outside struct {
	place string
	path  []any          // to what is looked at: keys and indexes
	refs  map[string]int // how often each part of the document is referred to
}

// refuseReach refuses a document whose references lead to more than the library can go through in time.
func (o *outside) refuseReach(root map[string]any) error {
	parts, reach := inputschema.New(root), 0
	for ref, times := range o.refs {
		if reach += times * textsize.Mappings(parts.Resolved(map[string]any{"$ref": ref})); reach > maxReach {
			return wrong(o.place, tool.TruncateTo(ref, 200), "too many places refer to parts of it that are too large").
				WithHint("leave out the operations that are not needed")
		}
	}
	return nil
}

// refuse refuses a value that refers to another document, or is too deep, which aliases of YAML can
// make it. In data $ref is a word.
func (o *outside) refuse(v any, isData bool) error {
	if len(o.path) > maxDepth {
		return tooDeep(o.place, o.at())
	}
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !isData && !strings.HasPrefix(ref, "#") {
			return wrong(o.place, o.at(), "it refers to another document, %q, which is not read", tool.Truncate(ref)).
				WithHint("make one document of them first; the tools of OpenAPI call that bundling")
		}
		if ref, ok := v["$ref"].(string); ok && !isData {
			o.refs[ref]++
		}
		for key, one := range v {
			below := isData || key == "example" || key == "examples" || key == "default" || key == "enum" || key == "const"
			if err := o.below(key, one, below); err != nil {
				return err
			}
		}
	case []any:
		for i, one := range v {
			if err := o.below(i, one, isData); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *outside) below(key, v any, isData bool) error {
	o.path = append(o.path, key)
	err := o.refuse(v, isData)
	o.path = o.path[:len(o.path)-1]
	return err
}

// at is the place that is looked at, as a JSON pointer.
func (o *outside) at() string {
	var b strings.Builder
	for _, key := range o.path {
		b.WriteString("/" + escapePointer(tool.TruncateTo(fmt.Sprint(key), 200)))
		if b.Len() > 200 {
			break
		}
	}
	return tool.TruncateTo(b.String(), 200)
}
