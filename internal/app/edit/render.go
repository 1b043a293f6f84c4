package edit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"

	"callgate/internal/app"
	"callgate/internal/lazyregexp"
	"callgate/internal/serverlock"
	"callgate/tool"
)

// field is one key of a server as it is to be written. A value is a string, a
// rawText, a []any, a []field, or nil for an empty value.
type field struct {
	key   string
	value any
}

// rawText is written as it stands, where a string is quoted when it must be.
type rawText string

// maxColumns is how long a line may get before a list is written in lines.
const maxColumns = 80

// fields is a server as an app file writes it, without defaults.
func fields(s app.Server) []field {
	var f []field
	f = withText(f, "command", s.Command)
	f = withTexts(f, "args", s.Args)
	f = withMap(f, "env", s.Env)
	f = withText(f, "dir", s.Dir)
	if s.InWorkspace {
		f = withText(f, "cwd", "workspace")
	}
	f = withText(f, "url", s.URL)
	f = withText(f, "transport", s.Transport)
	f = withText(f, "protocol", s.Protocol)
	f = withMap(f, "headers", s.Headers)
	if o := s.OAuth; o != nil {
		in := withText([]field{}, "client_id", o.ClientID)
		in = withText(in, "client_secret", o.ClientSecret)
		in = withText(in, "issuer", o.Issuer)
		in = withNumber(in, "callback_port", o.CallbackPort)
		f = append(f, field{"oauth", withTexts(in, "scopes", o.Scopes)})
	}
	f = withTime(f, "timeout", s.Timeout)
	f = withTime(f, "start_timeout", s.StartTimeout)
	f = withNumber(f, "concurrency", s.Concurrency)
	f = withTexts(f, "env_allow", s.EnvAllow)
	f = withText(f, "isolation", s.Isolation.Mode)
	if s.Isolation.Network {
		f = append(f, field{"network", rawText("true")})
	}
	f = withTexts(f, "readable", s.Isolation.Readable)
	f = withTexts(f, "writable", s.Isolation.Writable)
	if s.Pin {
		f = append(f, field{"pin", rawText("true")})
	}
	if len(s.Tools) > 0 {
		var in []field
		for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
			in = append(in, field{name, toolFields(s.Tools[name])})
		}
		f = append(f, field{"tools", in})
	}
	return withLocks(f, s.Locks)
}

func withLocks(f []field, lines []serverlock.Line) []field {
	var in []field
	for _, line := range lines {
		list := make([]any, len(line.Locks))
		for i, l := range line.Locks {
			if list[i] = l.Resource; l.Mode != 0 {
				list[i] = []field{{"resource", l.Resource}, {"mode", l.Mode.String()}}
			}
		}
		in = append(in, field{line.Tools, list})
	}
	if len(in) == 0 {
		return f
	}
	return append(f, field{"locks", in})
}

func toolFields(t app.ServerTool) []field {
	f := withText([]field{}, "risk", string(t.Risk))
	f = withText(f, "side_effect", string(t.SideEffect))
	if len(t.Effects) > 0 {
		var list []any
		for _, effect := range t.Effects {
			list = append(list, effectFields(effect))
		}
		f = append(f, field{"effects", list})
	}
	if t.Idempotent {
		f = append(f, field{"idempotent", rawText("true")})
	}
	if t.Off {
		f = append(f, field{"enabled", rawText("false")})
	}
	return f
}

func effectFields(e tool.Effect) []field {
	f := withText(nil, "resource", e.Resource)
	f = withText(f, "mode", e.Mode.String())
	f = withText(f, "when", e.When)
	return withTexts(f, "unless", e.Unless)
}

func withText(f []field, key, value string) []field {
	if value == "" {
		return f
	}
	return append(f, field{key, value})
}

func withTexts(f []field, key string, values []string) []field {
	if len(values) == 0 {
		return f
	}
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return append(f, field{key, list})
}

func withMap(f []field, key string, values map[string]string) []field {
	if len(values) == 0 {
		return f
	}
	var in []field
	for _, name := range slices.Sorted(maps.Keys(values)) {
		in = append(in, field{name, values[name]})
	}
	return append(f, field{key, in})
}

func withNumber(f []field, key string, n int) []field {
	if n == 0 {
		return f
	}
	return append(f, field{key, rawText(strconv.Itoa(n))})
}

func withTime(f []field, key string, t time.Duration) []field {
	if t == 0 {
		return f
	}
	text := t.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return append(f, field{key, rawText(text)})
}

// literal is a value whose braces are doubled, so that an app file reads back
// the very text, with no variable in it filled in.
func literal(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", "{{{{")
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = literal(v[i])
		}
		return list
	case []field:
		list := make([]field, len(v))
		for i := range v {
			list[i] = field{v[i].key, literal(v[i].value)}
		}
		return list
	}
	return value
}

// block writes fields one on each line.
func block(f []field, indent, width int) []string {
	var lines []string
	for _, in := range f {
		lead := strings.Repeat(" ", indent) + quote(in.key, asKey) + ":"
		switch v := in.value.(type) {
		case nil:
			lines = append(lines, lead)
		case []field:
			if len(v) == 0 {
				lines = append(lines, lead+" {}")
				continue
			}
			lines = append(append(lines, lead), block(v, indent+width, width)...)
		case []any:
			if line := lead + " " + flow(v); utf8.RuneCountInString(line) <= maxColumns {
				lines = append(lines, line)
				continue
			}
			lines = append(lines, lead)
			for _, item := range v {
				lines = append(lines, strings.Repeat(" ", indent+width)+"- "+flow(item))
			}
		case string:
			lines = append(lines, lead+" "+quote(v, asValue))
		default:
			lines = append(lines, lead+" "+flow(v))
		}
	}
	return lines
}

// flow writes a value on one line.
func flow(value any) string {
	switch v := value.(type) {
	case nil:
		return "{}"
	case rawText:
		return string(v)
	case string:
		return quote(v, asItem)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = flow(v[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []field:
		return "{" + pairs(v) + "}"
	}
	panic(fmt.Sprintf("a field holds %T", value))
}

// pairs writes fields as they stand between braces.
func pairs(f []field) string {
	items := make([]string, len(f))
	for i, in := range f {
		items[i] = quote(in.key, asKey) + ": " + flow(in.value)
	}
	return strings.Join(items, ", ")
}

// position is where a text stands, which decides what it may hold unquoted.
type position int

const (
	asValue position = iota // of a key in a block
	asItem                  // inside brackets or braces, or in a list
	asKey
)

var (
	plainForm = lazyregexp.New(`^(?:\.{0,2}/|--?[A-Za-z]|[A-Za-z_])[A-Za-z0-9_./+=@%~:-]*$`)
	wordForm  = lazyregexp.New(`(?i)^(?:null|true|false|yes|no|on|off|y|n)$`)
)

// quote writes a text so that YAML reads back the same text, and no other kind
// of value. A text is quoted unless its form is known to be plain.
func quote(s string, at position) string {
	colon := at != asValue && strings.Contains(s, ":")
	if plainForm.MatchString(s) && !wordForm.MatchString(s) && !token.IsNeedQuoted(s) && !colon {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == ' ' || unicode.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// value finds a field.
func value(f []field, key string) (any, bool) {
	i := slices.IndexFunc(f, func(in field) bool { return in.key == key })
	if i < 0 {
		return nil, false
	}
	return f[i].value, true
}
