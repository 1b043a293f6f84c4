package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shape is the part of a JSON Schema that it looks at.
type shape struct {
	Type       any              `json:"type"`
	Enum       []any            `json:"enum"`
	Default    any              `json:"default"`
	Items      *shape           `json:"items"`
	Properties map[string]shape `json:"properties"`
	Required   []string         `json:"required"`
}

func (s shape) is(kind string) bool {
	switch v := s.Type.(type) {
	case string:
		return v == kind
	case []any:
		return slices.Contains(v, any(kind))
	}
	return false
}

var (
	quoted  = regexp.MustCompile("\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|„[^“”\n]*[“”]|`[^`\n]*`|(?:^|\\s)'[^'\n]*'")
	pairs   = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\x00\d+\x00|[^\s,]+)`)
	links   = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s"'<>]+`)
	paths   = regexp.MustCompile(`(?:^|\s)((?:~|\.{1,2})?/[^\s,;]*|[\w.-]+/[^\s,;]*|[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}|\.{1,2})(?:[\s,;:!?]|$)`)
	tokens  = regexp.MustCompile("\x00\\d+\x00")
	numbers = regexp.MustCompile(`(?:^|\s)(-?\d+(?:\.\d+)?)(?:\s|[.,;:!?]|$)`)
)

// instructionParts is what stands out in an instruction.
type instructionParts struct {
	named   map[string]string // name=value
	quoted  []string
	links   []string
	paths   []string
	numbers []string
	words   []string // lower case
	rest    string   // what follows the first word, without what was taken
	alone   bool     // one parameter is required, so the rest can be meant for it only
}

// splitInstruction finds the parts of an instruction, each kind out of what the ones
// before left.
func splitInstruction(text string) *instructionParts {
	p := &instructionParts{named: map[string]string{}}
	var held []string
	hold := func(s string) string {
		held = append(held, s)
		return " \x00" + strconv.Itoa(len(held)-1) + "\x00 "
	}
	text = quoted.ReplaceAllStringFunc(strings.ReplaceAll(text, "\x00", " "), func(q string) string {
		return hold(strings.Trim(strings.TrimSpace(q), "\"“”«»„`' "))
	})
	inQuotes := len(held)
	text = links.ReplaceAllStringFunc(text, func(s string) string { return hold(strings.TrimRight(s, ".,;:!?)")) })
	text = strings.ReplaceAll(text, "= \x00", "=\x00")
	text = pairs.ReplaceAllStringFunc(text, func(s string) string {
		m := pairs.FindStringSubmatch(s)
		p.named[strings.ToLower(m[1])] = tokens.ReplaceAllStringFunc(m[2], func(t string) string { return held[number(t)] })
		return " "
	})
	text = tokens.ReplaceAllStringFunc(text, func(t string) string {
		if n := number(t); n < inQuotes {
			p.quoted = append(p.quoted, held[n])
		} else {
			p.links = append(p.links, held[n])
		}
		return " "
	})
	for { // neighbours share the space between them
		m := paths.FindStringSubmatchIndex(text)
		if m == nil {
			break
		}
		p.paths = append(p.paths, strings.TrimRight(text[m[2]:m[3]], ",;:!?"))
		text = text[:m[2]] + " " + text[m[3]:]
	}
	for _, m := range numbers.FindAllStringSubmatch(text, -1) {
		p.numbers = append(p.numbers, m[1])
	}
	p.words = strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" \t,;:!?()[]{}", r) })
	if fields := strings.Fields(text); len(fields) > 1 {
		p.rest = strings.Join(fields[1:], " ")
	}
	return p
}

// instructionText is an instruction without what is only its material: what is searched for
// says nothing about which tool searches.
func instructionText(words string) string {
	words = links.ReplaceAllString(quoted.ReplaceAllString(words, " text "), " web page ")
	words = pairs.ReplaceAllString(words, " ")
	for {
		m := paths.FindStringSubmatchIndex(words)
		if m == nil {
			return strings.Join(strings.Fields(words), " ")
		}
		words = words[:m[2]] + "file" + words[m[3]:]
	}
}

// number is the number of what was held under a token.
func number(token string) int {
	n, _ := strconv.Atoi(strings.Trim(token, "\x00"))
	return n
}

// What parameters are about, by the words in their names.
var (
	pathNames = []string{"path", "file", "filename", "folder", "dir", "directory", "cwd", "root", "source", "destination", "target", "to", "from", "database"}
	linkNames = []string{"url", "uri", "link", "href", "endpoint"}
	textNames = []string{"pattern", "query", "text", "content", "command", "message", "expression", "search", "goal", "subject", "title", "body", "value", "q", "question", "fact", "input", "prompt", "name", "statement", "sql"}
	restNames = []string{"query", "goal", "subject", "fact", "question", "search"}
)

// fill finds values for a schema's parameters in an instruction, and names the
// required ones that it has none for.
func fill(words string, schema json.RawMessage) (args map[string]any, missing []string) {
	var s shape
	_ = json.Unmarshal(schema, &s) // one that cannot be read asks for nothing
	p := splitInstruction(words)
	p.alone = len(s.Required) == 1
	args = map[string]any{}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // the required first, in their order
		return place(s.Required, a)*1000 - place(s.Required, b)*1000 + strings.Compare(a, b)
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

func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// value finds one parameter's value.
func (p *instructionParts) value(name string, s shape, required bool) (any, bool) {
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

// number takes a number that stands beside the parameter's name, or the only
// one for a parameter that must have one.
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

// text takes the piece that fits a parameter's name. What is optional is filled
// only with a path or a link, which are meant for something.
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

// typed reads a value that was written out, as the schema wants it.
func typed(text string, s shape) (any, bool) {
	switch {
	case s.is("integer") || s.is("number"):
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return json.Number(text), true
		}
		return text, true // the door says what is wrong with it
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

// namesAction reports whether an instruction names a tool's own action.
func namesAction(words string, f ToolMatch) bool {
	action := f.Name[strings.LastIndexAny(f.Name, "._")+1:]
	return slices.Contains(strings.Fields(strings.ToLower(words)), strings.ToLower(action))
}
