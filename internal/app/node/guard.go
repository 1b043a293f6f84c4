package node

import (
	"strings"

	"github.com/goccy/go-yaml/token"
)

// tokenGuard checks the tokens of a file in order.
type tokenGuard struct {
	count   int
	nesting Nesting
}

const ifText = "; if it is meant as text, put it in quotes"

// refuse says what is wrong with the next token, and the way out.
func (g *tokenGuard) refuse(t *token.Token) (what, remedy string) {
	switch t.Type {
	case token.CommentType:
		return "", ""
	case token.AnchorType:
		return "anchors (&name) are not allowed in an app file", "write the value out where it is needed" + ifText
	case token.AliasType:
		return "aliases (*name) are not allowed in an app file", `a star that stands for everything is written "*", ` +
			"in quotes; write other values out where they are needed"
	case token.MergeKeyType:
		return "merge keys (<<) are not allowed in an app file", "write the keys out where they are needed"
	case token.TagType:
		return "tags (!name) are not allowed in an app file", "delete the tag" + ifText
	case token.MappingKeyType:
		return "keys that start with ? are not allowed in an app file", "write key: value" + ifText
	case token.DirectiveType:
		return "directives (%NAME) are not allowed in an app file", "delete the line" + ifText
	case token.MappingValueType:
		if key := g.nesting.last; key != nil && len(key.Value) > maxKey {
			return "the key before this colon is too long", "shorten it" + ifText
		}
	}
	g.count++
	g.nesting.Add(t)
	switch {
	case g.nesting.Depth() > maxDepth:
		return "lists and mappings are nested too deep here", "an app file needs no more than a few levels"
	case g.count > maxTokens:
		return "the file has too many keys and values", "an app file is a page of settings; keep data in files of its own"
	}
	return "", ""
}

// JoinColons gives the items of flow lists that hold a colon, such as
// localhost:13000, back as one text. Inside braces the library takes each such
// colon for the end of a key; in YAML a colon ends a plain key only before
// white space.
func JoinColons(tokens token.Tokens) token.Tokens {
	joined := make(token.Tokens, 0, len(tokens))
	var open []token.Type // brackets and braces
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open = append(open, t.Type)
		case token.SequenceEndType, token.MappingEndType:
			open = open[:max(len(open)-1, 0)]
		default:
			inList := len(open) > 0 && open[len(open)-1] == token.SequenceStartType
			if !inList {
				break
			}
			if n := plainLength(tokens[i:]); n > 1 {
				t = join(tokens[i : i+n])
				i += n - 1
			}
		}
		joined.Add(t)
	}
	return joined
}

const white = " \t\n"

// plainLength is the number of tokens that are one plain text: colons and
// scalars without quotes, with no white space between them.
func plainLength(tokens token.Tokens) int {
	n := 0
	for i, t := range tokens {
		colon := t.Type == token.MappingValueType
		if !colon && !isPlain(t) || i > 0 && strings.TrimLeft(t.Origin, white) != t.Origin {
			break
		}
		if !colon {
			n = i + 1 // a colon at the end is that of a key
		}
		if strings.TrimRight(t.Origin, white) != t.Origin {
			break
		}
	}
	return n
}

// join makes the tokens of a plain text one token.
func join(tokens token.Tokens) *token.Token {
	var value, origin strings.Builder
	for _, t := range tokens {
		value.WriteString(t.Value)
		origin.WriteString(t.Origin)
	}
	return token.String(value.String(), origin.String(), tokens[0].Position)
}

// isPlain reports whether a token is a scalar without quotes.
func isPlain(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.IntegerType, token.FloatType, token.BoolType, token.NullType,
		token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
		return true
	}
	return false
}
