// Package arguments writes the arguments of a call as a person reads them: real
// characters and real lines in the place of JSON.
//
// # Law
//
// Every character is shown but a last line end, and nothing in a value can pass for another argument: a value
// of several lines stands below its name with a margin before each line, and what has
// no shape is written out by internal/visible. In one line, a tab is a space. Brief alone
// leaves something out: what stands in a long list or object.
package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/visible"
)

const margin = "  "

// first are the parameters that say most of what a call does.
const first = "command"

// Lines writes one argument after the other, a command first, as "name: value"; a
// value of several lines is below its name. Arguments that are no JSON object are
// written as they are.
func Lines(args json.RawMessage) []string {
	names, values, ok := fields(args)
	if !ok {
		return strings.Split(visible.Lines(strings.TrimSpace(string(args))), "\n")
	}
	var before, after []string
	for i, name := range names {
		lines := one(visible.Text(name), values[i])
		if name == first {
			before = append(before, lines...)
		} else {
			after = append(after, lines...)
		}
	}
	return append(before, after...)
}

// Bounded is Lines of at most so many; more says how many there are beside them.
func Bounded(args json.RawMessage, most int) (lines []string, more int) {
	lines = Lines(args)
	if len(lines) <= most {
		return lines, 0
	}
	return lines[:most], len(lines) - most
}

// OneLine writes arguments in one line, of at most n characters.
func OneLine(args json.RawMessage, n int) string {
	names, values, ok := fields(args)
	if !ok {
		return visible.Clip(string(args), n)
	}
	return inOneLine(names, values, slices.Index(names, first), n, n)
}

// subjects are the parameters that say what a call is about, the most telling first.
var subjects = []string{first, "pattern", "query", "url", "path", "file_path", "question"}

// Brief is OneLine for somebody who follows the calls of a known tool: what a call is
// about, or its only argument, stands first and without its name.
func Brief(args json.RawMessage, n int) string {
	names, values, ok := fields(args)
	if !ok {
		return visible.Clip(string(args), n)
	}
	subject := -1
	if len(names) == 1 {
		subject = 0
	}
	for _, name := range subjects {
		if subject < 0 {
			subject = slices.Index(names, name)
		}
	}
	return inOneLine(names, values, subject, n, longest/2)
}

// inOneLine writes arguments in one line; the bare one stands first, without its name. Of
// a list or an object with more than most characters only that it is one is said.
func inOneLine(names []string, values []json.RawMessage, bare, n, most int) string {
	var parts []string
	for i, name := range names {
		text, isText := plainText(values[i])
		if !isText {
			if text = visible.JSON(compact(values[i])); len(text) > most {
				text = text[:1] + "…" + text[len(text)-1:]
			}
		}
		text = strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", " ⏎ ")
		text = strings.ReplaceAll(text, "\t", " ")
		if i == bare {
			parts = append([]string{visible.Text(text)}, parts...)
			continue
		}
		parts = append(parts, visible.Text(name)+": "+visible.Text(text))
	}
	return visible.Clip(strings.Join(parts, ", "), n)
}

// fields are the arguments in their order.
func fields(args json.RawMessage) (names []string, values []json.RawMessage, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(args))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		text, isText := name.(string)
		var value json.RawMessage
		if err != nil || !isText || dec.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, text), append(values, value)
	}
	return names, values, true
}

// longest is the longest JSON value that stands beside its name.
const longest = 100

func one(name string, value json.RawMessage) []string {
	if text, ok := plainText(value); ok {
		if !strings.Contains(text, "\n") {
			return []string{name + ": " + visible.Text(text)}
		}
		return below(name, visible.Lines(text))
	}
	if short := visible.JSON(compact(value)); len(short) <= longest {
		return []string{name + ": " + short}
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return []string{name + ": " + visible.JSON(string(value))}
	}
	return below(name, visible.JSON(b.String()))
}

// below writes lines below a name.
func below(name, text string) []string {
	lines := []string{name + ":"}
	for line := range strings.Lines(text) {
		lines = append(lines, margin+strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// plainText is a text that is read as itself without quotes; false for what is no text,
// and for one that could be taken for something else.
func plainText(value json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return "", false
	}
	trimmed := strings.TrimRight(text, "\n")
	if trimmed == "" || trimmed != strings.TrimSpace(trimmed) && !strings.Contains(trimmed, "\n") ||
		json.Valid([]byte(trimmed)) || !strings.Contains(trimmed, "\n") && trimmed != text {
		return "", false
	}
	return text, true
}

func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

// More says how many lines are not shown, and how to see them.
func More(lines int, id string) string {
	return fmt.Sprintf("… %d more lines: callgate approvals show %s", lines, visible.Text(id))
}
