package surface

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"callgate/tool"
)

const (
	maxExamples = 2   // examples in a description
	maxExample  = 600 // bytes of an example; a longer one costs more than it teaches
)

// openObject is the schema of a tool whose parameters are not shown: any object.
const openObject = `{"type":"object"}`

// rendered is a tool shown whole, with its size and the key of the cache.
type rendered struct {
	Entry
	tokens    int
	wire      string // the item's
	tokenizer string
}

// renderer renders tools whole. It belongs to one plan and reuses its buffers.
type renderer struct {
	planner    *Planner
	generation uint64
	tokens     func([]byte) int
	tokenizer  string

	pruner pruner
	text   []byte // a definition
}

// full renders an item whole.
func (r *renderer) full(item Item) *rendered {
	if item.Tool == nil {
		return &rendered{Entry: Entry{Name: item.Wire, Schema: json.RawMessage(openObject)}, tokens: fallbackTokens}
	}
	cacheable := r.tokens == nil || r.tokenizer != ""
	if cacheable {
		if cached := r.planner.cached(r.generation, item, r.tokenizer); cached != nil {
			return cached
		}
	}
	spec := &item.Tool.Spec
	e := Entry{
		Name:        wire(item),
		Description: r.description(spec),
		Schema:      r.pruner.shown(spec.Input, item.Tool.ID.Name),
	}
	out := &rendered{e, r.count(e), item.Wire, r.tokenizer}
	if cacheable {
		r.planner.cache(r.generation, item.Tool, out)
	}
	return out
}

// description returns a tool's description with its first examples.
func (r *renderer) description(spec *tool.Spec) string {
	text := strings.ToValidUTF8(spec.Description, "\uFFFD")
	if len(spec.Examples) == 0 {
		return text
	}
	b := []byte(strings.TrimRight(text, " \t\r\n"))
	for i, n := 0, 0; i < len(spec.Examples) && n < maxExamples; i++ {
		args, ok := r.pruner.compact(spec.Examples[i].Args)
		if !ok || len(args) > maxExample {
			continue
		}
		b = append(b, "\nExample"...)
		if note := OneLine(spec.Examples[i].Note); note != "" {
			b = append(b, " ("+note+")"...)
		}
		b = append(append(b, ": "...), args...)
		n++
	}
	return string(b)
}

// compactEntry renders an item by name and one line. Its JSON takes at most 100
// bytes beside these two.
func compactEntry(item Item) Entry {
	e := Entry{Name: wire(item), Schema: json.RawMessage(openObject)}
	if item.Tool != nil {
		e.Description = OneLine(item.Tool.Spec.Description)
	}
	return e
}

// wire returns the name for the model API.
func wire(item Item) string {
	if item.Wire == "" && item.Tool != nil {
		return tool.WireName(item.Tool.ID.Dotted())
	}
	return item.Wire
}

// count returns the tokens of an entry.
func (r *renderer) count(e Entry) int {
	r.text = e.append(r.text[:0])
	if r.tokens != nil {
		return r.tokens(r.text)
	}
	return pythonJSONLen(r.text) / bytesPerToken
}

// Definition returns the function object of the OpenAI-compatible API in compact
// JSON, as it is counted and sent.
func (e Entry) Definition() []byte { return e.append(nil) }

func (e Entry) append(b []byte) []byte {
	b = append(b, `{"type":"function","function":{"name":`...)
	b = appendQuoted(b, e.Name)
	b = append(b, `,"description":`...)
	b = appendQuoted(b, e.Description)
	b = append(b, `,"parameters":`...)
	b = append(b, e.Schema...)
	return append(b, "}}"...)
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes a JSON string, with no more escapes than JSON needs.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
