package calltext

import (
	"strings"

	"callgate/internal/agent/calltext/laxjson"
)

// input is the text at hand, and the tools that were offered.
type input struct {
	laxjson.Text
	known func(string) bool // nil knows every name
	depth int               // of markup inside markup
}

// lineEnds tells whether nothing but space and punctuation follows in the line,
// or markup.
func (in *input) lineEnds(i int) bool {
	i = in.Blank(i)
	if c := in.At(i); c == ',' || c == ';' {
		i = in.Blank(i + 1)
	}
	return in.End(i) || in.S[i] == '\n' || in.S[i] == '<'
}

// offered tells whether a tool of this name was offered.
func (in *input) offered(name string) bool { return in.known == nil || in.known(name) }

// name is the name of a tool as it was offered, from how a model wrote it, or
// "" if that is no name.
func (in *input) name(written string) string {
	written = strings.TrimSpace(written)
	if in.known != nil && in.known(written) {
		return written
	}
	name := strings.TrimPrefix(written, "functions.")
	if k := strings.LastIndexByte(name, ':'); k > 0 && digits(name[k+1:]) {
		name = name[:k]
	}
	if name == "" || len(name) > 128 {
		return ""
	}
	for i := range len(name) {
		if !laxjson.IsNameByte(name[i]) {
			return ""
		}
	}
	return name
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
