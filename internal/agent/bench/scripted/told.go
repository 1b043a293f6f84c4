package scripted

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/internal/lazyregexp"
)

var (
	failedWords = lazyregexp.New(`(?i)^\s*[\[(]?(error|invalid|not[_ ]found|failed|denied|refused|forbidden|unknown|` +
		`conflict|limited|unavailable|timeout|timed out|cancelled|internal|ambiguous|waiting)\b`)
	exitWords    = lazyregexp.New(`(?i)exit(?:ed)?(?: with)?(?: status| code)[ :=]*([1-9]\d*)`)
	refusedWords = lazyregexp.New(`(?i)\b(denied|not allowed|refused|forbidden|deny rule|needs consent|not permitted)\b`)
	unknownTool  = lazyregexp.New(`(?i)\b(no|unknown|not a|no such) tool\b|` +
		`\btool\b[^.\n]{0,60}(does not exist|is not known|not found)`)
	notThereWords = lazyregexp.New(`(?i)not_found|no such file|there is no`)
	meantWords    = lazyregexp.New(`(?i)did you mean:?\s+([^?\n]+)`)
	toolLike      = lazyregexp.New("[`\"']?\\b([a-z][a-z0-9_]*(?:\\.|__)[a-z][a-z0-9_]*)\\b[`\"']?")
	quoted        = lazyregexp.New("[`\"']([^`\"'\n]+)[`\"']")
	offsetWords   = lazyregexp.New(`\boffset["']?\s*[=:]\s*(\d+)`)
	rangeWords    = lazyregexp.New(`(?i)lines? (\d+)\s*(?:to|–|-|…)\s*(\d+) of (\d+)`)
	cutWords      = lazyregexp.New(`(?i)\b(truncated|omitted|cut (?:off|out|here)|not shown|of more|` +
		`more (?:lines|matches|hits|entries|bytes|results)|the rest|\d+ of \d+\+? (?:matches|lines|entries|bytes))\b`)
	readFirst = lazyregexp.New(`(?i)\bread (?:it|the file|\S+) (?:first|before|again)|(?:was|has) not (?:been )?read\b|` +
		`\bchanged (?:since|on disk|meanwhile)\b`)
)

// failed reports whether a result says that a call did not do what it should.
func failed(r Result) bool {
	return r.Failed || failedWords.MatchString(r.Text) || exitWords.MatchString(edges(r.Text))
}

// edges returns the beginning and the end of a text, where a model looks for what is
// said about the rest.
func edges(text string) string {
	if len(text) <= 1200 {
		return text
	}
	return text[:500] + "\n" + text[len(text)-700:]
}

// rest says how the rest of a result is got.
type rest struct {
	cut  bool   // somebody says that there is more
	next []told // calls that give it, in the order in which they are named
}

// told is a call in words.
type told struct {
	tool string         // empty: the same tool again
	args map[string]any // for the same tool: what changes
}

// more reads what a result says of what it does not show.
func more(text string) rest {
	var r rest
	for _, line := range strings.Split(whole.ReplaceAllString(edges(text), "")+"\n"+cutInMiddle(text), "\n") {
		m := rangeWords.FindStringSubmatch(line)
		follows := m == nil && cutWords.MatchString(line)
		if m != nil {
			last, _ := strconv.Atoi(m[2])
			all, _ := strconv.Atoi(m[3])
			follows = last < all
			if follows && offsetWords.FindString(line) == "" {
				r.next = append(r.next, told{args: map[string]any{"offset": last + 1}})
			}
		}
		if tool, args := toldCall(line); tool != "" && (follows || goesOn.MatchString(line)) {
			r.cut = true
			r.next = append(r.next, told{tool, args})
			continue
		}
		if m := offsetWords.FindStringSubmatch(line); m != nil {
			at, _ := strconv.Atoi(m[1])
			r.next = append(r.next, told{args: map[string]any{"offset": at}})
			follows = true
		}
		r.cut = r.cut || follows
	}
	r.cut = r.cut || cutInMiddle(text) != ""
	return r
}

var (
	verbBefore = lazyregexp.New(`(?i)\b(?:with|use|call|by|through|try)\s+$`)
	goesOn     = lazyregexp.New(`(?i)\b(?:continue|the rest|the whole|read it|go on)\b`)
)

// whole is how data says that it is all there.
var whole = lazyregexp.New(`(?i)"(?:truncated|cut|more)":\s*false`)

var middleCut = lazyregexp.New(`(?m)^.{0,20}(?:…|\.\.\.|\[).{0,200}` +
	`(?:omitted|not shown|cut|left out|truncated|and \d+–).*$`)

// cutInMiddle returns the line that says that the middle is missing.
func cutInMiddle(text string) string { return middleCut.FindString(text) }

// toldCall finds a call in words: a tool, named after a verb or before its arguments,
// which are JSON or name=value.
func toldCall(text string) (string, map[string]any) {
	for _, m := range toolLike.FindAllStringSubmatchIndex(text, -1) {
		name, before, after := text[m[2]:m[3]], text[:m[0]], text[m[1]:]
		asJSON := strings.HasPrefix(strings.TrimLeft(after, " (:"), "{")
		if !asJSON && !verbBefore.MatchString(before) {
			continue
		}
		if args := argsIn(after); len(args) > 0 {
			return name, args
		}
	}
	return "", nil
}

var pair = lazyregexp.New(`\b([a-z_]+)=("[^"]*"|[^\s,;)\]]+)`)

// argsIn reads the arguments that stand at the beginning of a text.
func argsIn(text string) map[string]any {
	if at := strings.IndexByte(text, '{'); at >= 0 && at < 40 {
		var args map[string]any
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&args) == nil {
			return args
		}
	}
	args := map[string]any{}
	for _, m := range pair.FindAllStringSubmatch(text, -1) {
		value := strings.Trim(m[2], `"`)
		if n, err := strconv.Atoi(value); err == nil {
			args[m[1]] = n
			continue
		}
		args[m[1]] = value
	}
	return args
}

// schemaIn finds a JSON Schema of an object in a text.
func schemaIn(text string) (Schema, bool) {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			return Schema{}, false
		}
		at += next
		var s Schema
		raw := json.RawMessage{}
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw) != nil {
			continue
		}
		if json.Unmarshal(raw, &s) == nil && s.Properties != nil {
			return s, true
		}
		if inner, ok := schemaWithin(raw); ok {
			return inner, true
		}
		at += len(raw) - 1
	}
}

// schemaWithin finds a schema below a key of an object.
func schemaWithin(raw json.RawMessage) (Schema, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return Schema{}, false
	}
	for _, key := range []string{"schema", "input", "parameters", "input_schema", "inputSchema", "spec", "tool"} {
		var s Schema
		if json.Unmarshal(fields[key], &s) == nil && s.Properties != nil {
			return s, true
		}
		if inner, ok := schemaWithin(fields[key]); ok {
			return inner, true
		}
	}
	return Schema{}, false
}

var exampleWords = lazyregexp.New(`(?i)\bexample:?\s*(\{.*)`)

// exampleIn finds the example of an error.
func exampleIn(text string) map[string]any {
	m := exampleWords.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var args map[string]any
	_ = json.NewDecoder(strings.NewReader(m[1])).Decode(&args)
	return args
}

// meant returns the names that an error suggests.
func meant(text string) []string {
	m := meantWords.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var names []string
	for _, word := range strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune(" ,\"'`;()", r) }) {
		if word != "or" && word != "and" {
			names = append(names, strings.TrimRight(word, ".:"))
		}
	}
	return names
}

// similarPath finds a path in an error that could be the one that was meant.
func similarPath(text, wanted string) string {
	for _, m := range append(quoted.FindAllStringSubmatch(text, -1), wordsAsMatches(meant(text))...) {
		if p := m[1]; p != wanted && (filepath.Base(p) == filepath.Base(wanted) || filepath.Ext(p) != "" && near(p, wanted)) {
			return p
		}
	}
	return ""
}

func wordsAsMatches(words []string) [][]string {
	var out [][]string
	for _, w := range words {
		out = append(out, []string{w, w})
	}
	return out
}

// near reports whether two paths look alike to a reader.
func near(a, b string) bool {
	a, b = filepath.Base(a), filepath.Base(b)
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return same >= 3
}
