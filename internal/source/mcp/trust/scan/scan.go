package scan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/visible"
	"callgate/tool"
)

// Severity is how grave a finding is: a serious finding holds a tool at first
// sight, a notice is only shown.
type Severity string

// The severities.
const (
	Serious Severity = "serious"
	Notice  Severity = "notice"
)

// Finding is one thing in a definition that a human should look at.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Where    string   `json:"where"`   // name, title, description, or the path of a value in the schema
	Excerpt  string   `json:"excerpt"` // the text that was found, with nothing invisible
	Why      string   `json:"why"`     // what is wrong with it, in a sentence
}

const (
	maxFindings = 40   // of one definition
	maxNoted    = 4000 // before they are sorted
	maxExcerpt  = 200
	longText    = 4000 // bytes; one description in a thousand is longer
)

// Malformed is the rule on definitions that cannot be judged, and so cannot be
// accepted.
const Malformed = "malformed"

// Scan scans everything in a definition that a model could read. Others are the
// names of the tools of all other servers, without names that the definition's
// own server has: a text may mention its own server's tools.
//
// At most one finding is reported for each rule and place, the serious ones
// first, in an order that depends on the definition alone. No findings means
// only that nothing known was found.
func Scan(d definition.Definition, others []string) []Finding {
	s := scanner{name: d.Name, others: others, steps: make([]step, 0, 32), pieces: make([]piece, 0, 32)}
	parts := d.Parts()
	if why := d.Problem(parts); why != "" {
		s.report(Malformed, Serious, "name", d.Name, "this definition cannot be judged: "+why)
	}
	s.names()
	s.about(d)
	s.add("name", d.Name)
	s.add("title", d.Title)
	s.add("description", d.Description)
	for _, part := range parts {
		s.walk(s.step(-1, part.Name, 0), part.Node)
	}
	for i := range s.pieces {
		s.piece(&s.pieces[i])
	}
	return s.sorted()
}

// piece is one text of a definition.
type piece struct {
	at     int // its step
	raw    string
	folded string // see fold; a plain text keeps its length
	key    bool   // the name of a property, not prose
	slot   bool   // of a parameter: a model fills it in
	sample bool   // an example, a default or a value of an enumeration
	aside  bool   // of the output or an annotation
}

// step is one step of the path to a text. The path is written only for a
// finding.
type step struct {
	up    int // the step before, -1 for none
	key   string
	index int // in an array; then the key is ""
}

type scanner struct {
	name   string
	others []string
	steps  []step
	pieces []piece
	found  []Finding
	cued   cueHits // of the current text
	effort int
	since  int // the first finding of the current text
	layer  int // how often the text was decoded

	params  map[string]bool // the names of the parameters, in lower case
	topic   mark            // what the tool's name is about
	purpose string          // the tool's name and first sentence
	defends bool            // the tool is one against attacks
	codec   bool            // the tool is about encodings
}

func (s *scanner) step(up int, key string, index int) int {
	s.steps = append(s.steps, step{up, key, index})
	return len(s.steps) - 1
}

func (s *scanner) where(at int) string {
	switch st := s.steps[at]; {
	case st.up < 0:
		return st.key
	case st.index >= 0:
		return s.where(st.up) + "[" + strconv.Itoa(st.index) + "]"
	default:
		return definition.ChildPath(s.where(st.up), st.key)
	}
}

func (s *scanner) add(where, raw string) {
	if raw != "" {
		s.pieces = append(s.pieces, piece{at: s.step(-1, where, 0), raw: raw})
	}
}

// piece applies all rules to one text.
func (s *scanner) piece(p *piece) {
	p.folded, s.since = fold(p.raw), len(s.found)
	s.runes(p)
	s.shapes(p)
	if p.key {
		s.secretKey(p)
		s.historyKey(p)
		return
	}
	s.phrases(p)
	if p.at < 0 || s.steps[p.at].key != "name" || s.steps[p.at].up >= 0 {
		s.sentences(p)
		s.decoded(p)
	}
}

// about finds out what a tool is about, by its name and first words.
func (s *scanner) about(d definition.Definition) {
	first := strings.ToLower(d.Description[:min(len(d.Description), 160)])
	if at := strings.Index(first, ". "); at > 0 {
		first = first[:at]
	}
	s.purpose = strings.ToLower(d.Name) + " " + first
	w := compileWords()
	for word := range strings.FieldsFuncSeq(snake(d.Name), func(r rune) bool { return strings.ContainsRune("-_ ./", r) }) {
		if t, ok := w.longest(strings.ToLower(word)); ok {
			s.topic |= t.mark
		}
	}
	s.defends = containsAny(first, []string{"injection", "jailbreak", "attack", "malware", "phishing", "poison", "malicious",
		"vulnerabilit", "owasp", "security aware", "red-team", "threat"})
	if name := strings.ToLower(d.Name) + " " + first; containsAny(name, []string{"chat", "conversation", "completion", "llm", "summar", "prompt", "memory", "language model", "ask ", "ask_"}) {
		s.topic |= talk | prompt
	}
	s.codec = containsAny(strings.ToLower(d.Name)+" "+first, codecWords)
}

// isParameter reports whether a word is the name of a parameter.
func (s *scanner) isParameter(word string) bool {
	return s.params[word]
}

// walk collects all texts of a schema, because a model reads all of them.
func (s *scanner) walk(at int, n definition.Node) {
	if len(s.pieces) > 1<<16 {
		return // such a definition is malformed anyway
	}
	switch n.Kind {
	case definition.Text:
		if n.Text != "" {
			p := piece{at: at, raw: n.Text}
			s.role(&p)
			s.pieces = append(s.pieces, p)
		}
	case definition.Array:
		for i, child := range n.Children {
			if child.Kind != definition.Literal {
				s.walk(s.step(at, "", i), child)
			}
		}
	case definition.Object:
		for i, child := range n.Children {
			known := wellKnown(n.Keys[i])
			plainType := child.Kind == definition.Text && n.Keys[i] == "type" && wellKnown(child.Text)
			if known && (child.Kind == definition.Literal || plainType) {
				continue
			}
			below := s.step(at, n.Keys[i], -1)
			if !known {
				s.pieces = append(s.pieces, piece{at: below, raw: n.Keys[i], key: true})
				if s.params == nil {
					s.params = map[string]bool{}
				}
				s.params[strings.ToLower(n.Keys[i])] = true
			}
			s.walk(below, child)
		}
	}
}

// role finds out what a text of the JSON parts is for.
func (s *scanner) role(p *piece) {
	for at := p.at; at >= 0; at = s.steps[at].up {
		switch st := s.steps[at]; {
		case st.up < 0:
			p.slot, p.aside = p.slot && st.key == "input", st.key != "input"
		case st.key == "properties":
			p.slot = true
		case st.key == "enum" || st.key == "default" || st.key == "examples" || st.key == "example" || st.key == "const":
			p.sample = true
		}
	}
}

// wellKnown reports whether a key is one that nearly every schema has.
func wellKnown(key string) bool {
	switch key {
	case "type", "properties", "description", "title", "items", "required", "enum", "default", "additionalProperties",
		"anyOf", "oneOf", "allOf", "$schema", "$ref", "$defs", "format", "minimum", "maximum", "const", "examples",
		"string", "object", "array", "number", "integer", "boolean", "null":
		return true
	}
	return false
}

// report adds a finding, unless there is one of the same rule and place that is
// as grave. Texts are scanned one after the other, so only findings of the
// current text can have the same place.
func (s *scanner) report(rule string, severity Severity, where, excerpt, why string) {
	for i := s.since; i < len(s.found); i++ {
		if f := &s.found[i]; f.Rule == rule && f.Where == where {
			if f.Severity == Serious || severity == Notice {
				return
			}
			s.found = slices.Delete(s.found, i, i+1)
			break
		}
	}
	if len(s.found) < maxNoted {
		excerpt = visible.Text(tool.TruncateTo(excerpt, maxExcerpt))
		s.found = append(s.found, Finding{rule, severity, where, excerpt, why})
	}
}

func (s *scanner) sorted() []Finding {
	slices.SortFunc(s.found, func(a, b Finding) int {
		return cmp.Or(-strings.Compare(string(a.Severity), string(b.Severity)),
			strings.Compare(a.Where, b.Where), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Excerpt, b.Excerpt))
	})
	return s.found[:min(len(s.found), maxFindings)]
}

// excerpt returns a part of a text with a few words around it.
func excerpt(s string, from, to int) string {
	const margin = 30
	start, end := max(0, from-margin), min(len(s), to+margin)
	before, after := "", ""
	if start > 0 {
		before = "… "
		start += max(0, strings.IndexAny(s[start:from], " \n")) // from the next whole word
	}
	if end < len(s) {
		after = " …"
		if last := strings.LastIndexAny(s[to:end], " \n"); last >= 0 {
			end = to + last
		}
	}
	return before + strings.Join(strings.Fields(strings.ToValidUTF8(s[start:end], "")), " ") + after
}
