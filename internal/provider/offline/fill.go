package offline

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// paramSchema is the part of a JSON Schema that matters here.
type paramSchema struct {
	Type       any                    `json:"type"`
	Enum       []any                  `json:"enum"`
	Default    any                    `json:"default"`
	Items      *paramSchema           `json:"items"`
	Properties map[string]paramSchema `json:"properties"`
	Required   []string               `json:"required"`
}

func (s paramSchema) is(kind string) bool {
	switch v := s.Type.(type) {
	case string:
		return v == kind
	case []any:
		return slices.Contains(v, any(kind))
	}
	return false
}

var (
	quoted = regexp.MustCompile("\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|`[^`\n]*`|(?:^|\\s)'[^'\n]*'")
	pairs  = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\x00\d+\x00|[^\s,]+)`)
	links  = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`)
	paths  = regexp.MustCompile(`(?:^|\s)((?:~|\.{1,2})?/[^\s,;]*|[\w.-]+/[^\s,;]*|` +
		`[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}|\.{1,2})(?:[\s,;:!?]|$)`)
	// folders is a folder named by a single word at the end, as in: search for "x" in
	// src. It counts only beside a quoted text: "answer in French" names none.
	folders = regexp.MustCompile(`(?i)\s(?:in|under|inside)\s+([\pL\d_-]+)\s*[.!?]?\s*$`)
	tokens  = regexp.MustCompile("\x00\\d+\x00")
	numbers = regexp.MustCompile(`(?:^|\s)(-?\d+(?:\.\d+)?)(?:\s|[.,;:!?]|$)`)
)

// instructionParts are the parts of an instruction that may be arguments.
type instructionParts struct {
	named   map[string]string // name=value
	quoted  []string
	links   []string
	paths   []string
	numbers []string
	words   []string // lower case
	rest    string   // what follows the first word, without the other parts
	alone   bool     // only one parameter is required, so the rest belongs to it
}

// splitInstruction finds the parts of an instruction, each kind in what the kinds before it left.
func splitInstruction(text string) *instructionParts {
	p := &instructionParts{named: map[string]string{}}
	var held []string
	hold := func(s string) string {
		held = append(held, s)
		return " \x00" + strconv.Itoa(len(held)-1) + "\x00 "
	}
	text = quoted.ReplaceAllStringFunc(strings.ReplaceAll(text, "\x00", " "), func(q string) string {
		return hold(unquoted(q))
	})
	inQuotes := len(held)
	text = links.ReplaceAllStringFunc(text, func(s string) string { return hold(strings.TrimRight(s, ".,;:!?)")) })
	text = strings.ReplaceAll(text, "= \x00", "=\x00")
	text = pairs.ReplaceAllStringFunc(text, func(s string) string {
		m := pairs.FindStringSubmatch(s)
		value := tokens.ReplaceAllStringFunc(m[2], func(t string) string { return held[tokenNumber(t)] })
		p.named[strings.ToLower(m[1])] = value
		return " "
	})
	text = tokens.ReplaceAllStringFunc(text, func(t string) string {
		if n := tokenNumber(t); n < inQuotes {
			p.quoted = append(p.quoted, held[n])
		} else {
			p.links = append(p.links, held[n])
		}
		return " "
	})
	for { // one at a time, because neighbours share the space between them
		m := paths.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		p.paths = append(p.paths, strings.TrimRight(text[m[2]:m[3]], ",;:!?"))
		text = text[:m[2]] + " " + text[m[3]:]
	}
	if m := folders.FindStringSubmatchIndex(text); m != nil && len(p.quoted) > 0 && len(p.paths) == 0 {
		p.paths = append(p.paths, text[m[2]:m[3]])
		text = text[:m[0]]
	}
	for _, m := range numbers.FindAllStringSubmatch(text, -1) {
		p.numbers = append(p.numbers, m[1])
	}
	p.words = strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return strings.ContainsRune(" \t,;:!?()[]{}", r)
	})
	if fields := strings.Fields(text); len(fields) > 1 {
		p.rest = strings.Join(fields[1:], " ")
	}
	return p
}

// unquoted is a quoted text without its quotes. Those that are in it stay.
func unquoted(q string) string {
	q = strings.TrimSpace(q)
	_, first := utf8.DecodeRuneInString(q)
	_, last := utf8.DecodeLastRuneInString(q)
	return strings.TrimSpace(q[first : len(q)-last])
}

// instructionText returns an instruction with its arguments replaced by what they are: the text that is
// searched for does not say which tool searches.
func instructionText(text string) string {
	text = links.ReplaceAllString(quoted.ReplaceAllString(text, " text "), " web page ")
	text = pairs.ReplaceAllString(text, " ")
	for {
		m := paths.FindStringSubmatchIndex(text)
		if m == nil {
			return strings.Join(strings.Fields(text), " ")
		}
		text = text[:m[2]] + "file" + text[m[3]:]
	}
}

// tokenNumber returns the number in a token that splitInstruction put in place of a text.
func tokenNumber(token string) int {
	n, _ := strconv.Atoi(strings.Trim(token, "\x00"))
	return n
}

// Words in the names of parameters that say what they are about.
var (
	pathNames = []string{"path", "file", "filename", "folder", "dir", "directory", "cwd", "root", "source", "destination",
		"target", "to", "from", "database"}
	linkNames = []string{"url", "uri", "link", "href", "endpoint"}
	textNames = []string{"pattern", "query", "text", "content", "command", "message", "expression", "search", "goal",
		"subject", "title", "body", "value", "q", "question", "fact", "input", "prompt", "name", "statement", "sql"}
	restNames = []string{"query", "goal", "subject", "fact", "question", "search"}
)

// fill finds values for a schema's parameters in an instruction, and the required parameters that have none.
func fill(instruction string, schema json.RawMessage) (args map[string]any, missing []string) {
	var s paramSchema
	_ = json.Unmarshal(schema, &s) // an invalid schema requires nothing
	p := splitInstruction(instruction)
	p.alone = len(s.Required) == 1
	args = map[string]any{}
	if schema == nil { // nothing is known of the tool but its name
		for name, value := range p.named {
			args[name] = value
		}
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // the required ones first, in their order
		return cmp.Or(cmp.Compare(position(s.Required, a), position(s.Required, b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		required := slices.Contains(s.Required, name)
		if v, ok := p.value(name, s.Properties[name], required); ok {
			args[name] = v
		} else if required {
			missing = append(missing, name)
		}
	}
	return args, missing
}

// position returns the index of a name in a list, or the length of the list.
func position(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// value finds the value of one parameter.
func (p *instructionParts) value(name string, s paramSchema, required bool) (any, bool) {
	if text, ok := p.named[strings.ToLower(name)]; ok {
		return typed(text, s)
	}
	for _, e := range s.Enum {
		if text, ok := e.(string); ok && slices.Contains(p.words, strings.ToLower(text)) {
			return text, true
		}
	}
	switch {
	case len(s.Enum) > 0:
		return nil, false
	case s.is("boolean"):
		if !required && slices.Contains(p.words, strings.ToLower(name)) {
			return true, true
		}
		return nil, false
	case s.is("integer") || s.is("number"):
		return p.number(name, required)
	case s.is("array") && s.Items != nil && s.Items.is("string"):
		if required {
			if text, ok := p.text(name, required); ok {
				return []string{text}, true
			}
		}
		return nil, false
	case s.is("string"):
		text, ok := p.text(name, required)
		return text, ok
	}
	return nil, false
}

// number returns the number beside the parameter's name, or the first number if the parameter is required.
func (p *instructionParts) number(name string, required bool) (any, bool) {
	at := slices.Index(p.words, strings.ToLower(name))
	for _, i := range []int{at + 1, at - 1} {
		if at >= 0 && i >= 0 && i < len(p.words) && slices.Contains(p.numbers, p.words[i]) {
			return json.Number(p.words[i]), true
		}
	}
	if required && len(p.numbers) > 0 {
		n := p.numbers[0]
		p.numbers = p.numbers[1:]
		return json.Number(n), true
	}
	return nil, false
}

// text takes the part that fits a parameter's name. An optional parameter gets only a path or a link, because
// the user meant those for something.
func (p *instructionParts) text(name string, required bool) (string, bool) {
	first := func(list *[]string) (string, bool) {
		if len(*list) == 0 {
			return "", false
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return v, true
	}
	kinds := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	about := func(names []string) bool {
		return slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(names, k) })
	}
	switch {
	case about(linkNames):
		return first(&p.links)
	case about(pathNames):
		if v, ok := first(&p.paths); ok {
			return v, true
		}
		if required && !about(textNames) {
			return first(&p.quoted)
		}
		return "", false
	case !required:
		return "", false
	}
	if v, ok := first(&p.quoted); ok {
		return v, true
	}
	if slices.Contains(kinds, "command") && len(p.paths) > 0 { // run build.sh
		v, _ := first(&p.paths)
		return "sh " + v, true
	}
	if (about(restNames) || p.alone && about(textNames)) && strings.TrimSpace(p.rest) != "" {
		v := strings.TrimSpace(p.rest)
		p.rest = ""
		return v, true
	}
	if v, ok := first(&p.paths); ok {
		return v, true
	}
	return "", false
}

// typed converts the text of name=value to the type in the schema.
func typed(text string, s paramSchema) (any, bool) {
	switch {
	case s.is("integer") || s.is("number"):
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return json.Number(text), true
		}
		return text, true // the gate says what is wrong with it
	case s.is("boolean"):
		if b, err := strconv.ParseBool(text); err == nil {
			return b, true
		}
		return text, true
	case s.is("array"), s.is("object"):
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return v, true
		}
		if s.is("array") {
			return []string{text}, true
		}
		return text, true
	default:
		return text, true
	}
}

// namesAction reports whether an instruction contains the last part of a tool's name.
func namesAction(instruction string, match ToolMatch) bool {
	action := match.Name[strings.LastIndexAny(match.Name, "._")+1:]
	return slices.Contains(strings.Fields(strings.ToLower(instruction)), strings.ToLower(action))
}
