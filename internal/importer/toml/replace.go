package toml

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"callgate/internal/importer/configtree"
)

// Replace makes a table of the file's top level hold one table and no other: a
// name, with fields.
//
// All other bytes stay. Each header of the table and of the tables in it goes,
// with the keys below it, the comments between them and the blank lines above;
// comments above a header and behind the last key remain. The new text is read
// again, and must hold the one table and otherwise what was there before.
func Replace(text []byte, in, name string, fields []configtree.Field) ([]byte, error) {
	d, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if v := d.Root.Get(in); v != nil && v.Kind != configtree.Object {
		return nil, &configtree.SyntaxError{At: v.From, What: "a table is expected here, and there is " + v.Kind.String()}
	}
	e := &editor{text: text, eol: configtree.EOL(text)}
	out := configtree.Apply(text, e.splices(d, in, name, fields))
	after, err := Parse(out)
	if err != nil {
		return nil, errors.Join(errDefect, err)
	}
	table := after.Root.Get(in)
	if table == nil || len(table.Members) != 1 || table.Members[0].Name != name ||
		!table.Members[0].Value.Is(fields) || !configtree.Equal(d.Root, after.Root, in) {
		return nil, errDefect
	}
	return out, nil
}

var errDefect = errors.New("the changed text would not say what was asked for")

type editor struct {
	text []byte
	eol  string
}

// section is a run of statements that is removed: lines of the text.
type section struct {
	from, to int // the end is before its line end
	header   bool
}

func (e *editor) splices(d *Document, in, name string, fields []configtree.Field) []configtree.Splice {
	var splices []configtree.Splice
	for i, s := range e.sections(d, in) {
		if i == 0 {
			splices = append(splices, configtree.Splice{From: s.from, To: s.to, With: e.entry(s.header, in, name, fields)})
			continue
		}
		splices = append(splices, configtree.Splice{From: e.above(s.from), To: e.below(s.to)})
	}
	if len(splices) > 0 {
		return splices
	}
	with := e.entry(true, in, name, fields)
	switch body := bytes.TrimPrefix(e.text, []byte(bom)); {
	case len(body) == 0:
		with += e.eol
	case bytes.HasSuffix(body, []byte("\n")):
		with += e.eol
		if !blank(e.text[e.start(len(e.text)-1):]) {
			with = e.eol + with
		}
	default:
		with = e.eol + e.eol + with
	}
	return []configtree.Splice{{From: len(e.text), To: len(e.text), With: with}}
}

// sections are the parts of the text that define a table.
func (e *editor) sections(d *Document, in string) []section {
	var all []section
	inside, root := false, true
	for _, s := range d.statements {
		if s.header {
			inside, root = s.path[0] == in, false
		}
		if !inside && !(root && s.path[0] == in) {
			continue
		}
		from, to := e.start(s.from), e.end(s.to)
		if inside && !s.header {
			all[len(all)-1].to = to
			continue
		}
		all = append(all, section{from, to, s.header})
	}
	return all
}

// start is where the line of an offset begins, and end where it ends.
func (e *editor) start(at int) int {
	start := bytes.LastIndexByte(e.text[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(e.text, []byte(bom)) {
		return len(bom)
	}
	return start
}

func (e *editor) end(at int) int {
	end := bytes.IndexByte(e.text[at:], '\n')
	if end < 0 {
		return len(e.text)
	}
	if end += at; end > at && e.text[end-1] == '\r' {
		end--
	}
	return end
}

// above is where the blank lines before a line begin.
func (e *editor) above(from int) int {
	for from > 0 {
		before := e.start(from - 1)
		if before >= from || !blank(e.text[before:from]) {
			break
		}
		from = before
	}
	return from
}

// below is behind the line end that follows.
func (e *editor) below(to int) int {
	if next := bytes.IndexByte(e.text[to:], '\n'); next >= 0 {
		return to + next + 1
	}
	return to
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// entry is the new table: with a header, or on one line where no header may
// stand.
func (e *editor) entry(header bool, in, name string, fields []configtree.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = key(f.Name) + " = " + render(f.Value)
	}
	table := key(in) + "." + key(name)
	if !header {
		return table + " = { " + strings.Join(parts, ", ") + " }"
	}
	return "[" + table + "]" + e.eol + strings.Join(parts, e.eol)
}

// bareName is the form of a name that needs no quotes.
var bareName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func key(name string) string {
	if bareName.MatchString(name) {
		return name
	}
	return quote(name)
}

func render(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []configtree.Field:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = key(f.Name) + " = " + render(f.Value)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// quote writes a text; a text with backslashes, such as a path of Windows, is
// put in single quotes if possible.
func quote(s string) string {
	plain := strings.IndexFunc(s, func(c rune) bool { return c == '\'' || !unicode.IsPrint(c) }) < 0
	if plain && strings.Contains(s, `\`) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
