package resulttext

import (
	"strings"

	"callgate/internal/lazyregexp"
)

// Names returns the name by which a reader calls a tool, from its dotted name, or from
// the bare name of one of the kernel's own; "" if the reader does not have that tool.
// isTool is false for a word that is no tool's name. A nil Names is a reader who has
// every tool, by its dotted name.
type Names func(name string) (called string, isTool bool)

// called returns the name by which the reader calls a tool; "" if it does not have it.
func (n Names) called(name string) string {
	if n == nil {
		return name
	}
	called, _ := n(name)
	return called
}

// toolName matches what may be the name of a tool: words with dots or underlines.
const toolName = `[a-zA-Z][a-zA-Z0-9]*(?:[._][a-zA-Z0-9]+)+`

var toolWord = lazyregexp.New(toolName)

// rename writes the names of tools in a text as the reader calls them.
func rename(text string, names Names) string {
	if names == nil || !strings.ContainsAny(text, "._") { // each name has one of them
		return text
	}
	return toolWord.ReplaceAllStringFunc(text, func(word string) string {
		if called, isTool := names(word); isTool && called != "" {
			return called
		}
		return word
	})
}

// clauseEnd is where advice can be cut into parts that stand alone.
var clauseEnd = lazyregexp.New(`; (?:or )?|, or `)

// Advice returns a hint for a reader: without the parts that send it to a tool which it
// does not have, and with the names by which it calls the others.
func Advice(hint string, names Names) string {
	if names == nil || hint == "" {
		return hint
	}
	var out strings.Builder
	at := 0
	for _, end := range append(clauseEnd.FindAllStringIndex(hint, -1), []int{len(hint), len(hint)}) {
		if clause := dropChoices(hint[at:end[0]], names); !namesMissing(clause, names) {
			if out.Len() > 0 {
				out.WriteString(separatorBefore(hint, at))
			}
			out.WriteString(rename(clause, names))
		}
		at = end[1]
	}
	return out.String()
}

// choice finds two tools of which one can be used: "filesystem.list or filesystem.glob".
var choice = lazyregexp.New(toolName + ` or ` + toolName)

// dropChoices leaves out one of two tools that the reader does not have.
func dropChoices(clause string, names Names) string {
	return choice.ReplaceAllStringFunc(clause, func(both string) string {
		one, other, _ := strings.Cut(both, " or ")
		switch {
		case namesMissing(other, names):
			return one
		case namesMissing(one, names):
			return other
		}
		return both
	})
}

// separatorBefore returns the separator that ends at a place.
func separatorBefore(hint string, at int) string {
	for _, s := range []string{"; or ", ", or ", "; "} {
		if strings.HasSuffix(hint[:at], s) {
			return s
		}
	}
	return "; "
}

// namesMissing reports whether a text names a tool that the reader does not have.
func namesMissing(text string, names Names) bool {
	for _, word := range toolWord.FindAllString(text, -1) {
		if called, isTool := names(word); isTool && called == "" {
			return true
		}
	}
	return false
}
