package node

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"

	"callgate/tool"
)

// syntax reports what the parser said, in words that tell what to do.
func (r *Report) syntax(err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		r.Fail(Position{}, "check the indentation and the quotes",
			"this is not YAML: %s", tool.TruncateTo(err.Error(), maxText))
		return
	}
	r.syntaxAt(e.GetToken(), e.GetMessage())
}

// phrase is what is said in place of a parser's message that holds a part.
type phrase struct{ part, what, remedy string }

func phrases() []phrase {
	const tab, indent = "a tab stands where YAML wants spaces", "indent with spaces, two for each level"
	const column = "line keys of one level up in one column"
	return []phrase{
		{"tab character", tab, indent},
		{`'\t'`, tab, indent},
		{"double-quoted", `this text has no closing "`, `add the closing "`},
		{"single-quoted", "this text has no closing '",
			"add the closing '; inside single quotes an apostrophe is written twice"},
		{"corresponding to", "this closes something that was never opened", "delete it, or put the text in quotes"},
		{"'}'", "this { has no closing }", "add the closing }, or write one key on each line"},
		{"']'", "this list has no closing ]", "add the closing ] and a comma between the items"},
		{"reserved character", "text cannot start with this character", "put the text in quotes"},
		{"escape character", `this \ escape is unknown`, `write \\ for a backslash, or use single quotes`},
		{"mapping value is not allowed", `a second "key:" starts here, or the next line is indented too far`,
			`put text that holds ": " in quotes, and ` + column},
		{"value is not allowed in this context", "this does not fit what stands before it", column +
			", start each item of a list with a dash, and write an apostrophe inside single quotes twice"},
		{"unexpected key name", "a key is missing here, or its colon", "write key: value"},
		{"non-map value", "this line has no colon among lines of key: value", "write key: value"},
	}
}

func (r *Report) syntaxAt(t *token.Token, message string) {
	at := positionOf(t)
	message = strings.ReplaceAll(message, "\t", `\t`)
	for _, p := range phrases() {
		if strings.Contains(message, p.part) {
			r.Fail(at, p.remedy, "%s", p.what)
			return
		}
	}
	r.Fail(at, "check the indentation and the quotes here and on the line above",
		"this is not YAML: %s", tool.TruncateTo(message, maxText))
}
