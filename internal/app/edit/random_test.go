package edit_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/tool"
)

// scribe writes app files as people do: in blocks or braces, with comments and
// blank lines anywhere, indented as they like.
type scribe struct {
	*rand.Rand
	b        strings.Builder
	width    int
	comments int
}

// lines is a text that is written in lines of its own, where it can be.
type lines []string

// key is a key of a file and its value: a text as it stands, lines, or more
// keys.
type key struct {
	name  string
	value any
}

func (s *scribe) chance(percent int) bool { return s.IntN(100) < percent }

func (s *scribe) comment() string {
	s.comments++
	return fmt.Sprintf("# c%d {a: b", s.comments)
}

// gap may write blank lines and comments before a line.
func (s *scribe) gap(indent int) {
	if s.chance(10) {
		s.b.WriteString("\n")
	}
	if s.chance(15) {
		s.b.WriteString(strings.Repeat(" ", s.IntN(indent+s.width+1)) + s.comment() + "\n")
	}
}

func (s *scribe) end() {
	if s.chance(15) {
		s.b.WriteString(strings.Repeat(" ", 1+s.IntN(3)) + s.comment())
	}
	s.b.WriteString("\n")
}

func (s *scribe) quoted(name string) string {
	switch {
	case s.chance(8):
		return `"` + name + `"`
	case s.chance(8):
		return "'" + name + "'"
	}
	return name
}

func (s *scribe) block(keys []key, indent int) {
	for _, k := range keys {
		s.gap(indent)
		s.b.WriteString(strings.Repeat(" ", indent) + s.quoted(k.name) + ":")
		below, mapping := k.value.([]key)
		text, literal := k.value.(lines)
		switch {
		case literal:
			s.b.WriteString([]string{" |", " |-", " >", " >-", " |+", " >+"}[s.IntN(6)])
			s.end()
			for _, line := range text {
				s.b.WriteString(strings.Repeat(" ", indent+s.width) + line + "\n")
			}
		case !mapping:
			s.b.WriteString(" " + k.value.(string))
			s.end()
		case len(below) == 0:
			s.b.WriteString([]string{"", " ~", " null", " {}", " { }", ""}[s.IntN(6)])
			s.end()
		case s.chance(15):
			s.b.WriteString(" ")
			s.braces(below, indent)
			s.end()
		default:
			s.end()
			s.block(below, indent+s.width)
		}
	}
	s.gap(indent)
}

func (s *scribe) braces(keys []key, indent int) {
	apart := s.chance(30)
	line := func(at int) {
		if apart {
			s.end()
			s.b.WriteString(strings.Repeat(" ", at))
		}
	}
	s.b.WriteString("{")
	for i, k := range keys {
		line(indent + s.width)
		s.b.WriteString(s.quoted(k.name) + ": ")
		switch v := k.value.(type) {
		case []key:
			s.braces(v, indent+s.width)
		case lines:
			s.b.WriteString("'" + strings.Join(v, "\n\n") + "'")
		default:
			s.b.WriteString(v.(string))
		}
		if i < len(keys)-1 || s.chance(20) {
			s.b.WriteString(", ")
		}
	}
	line(indent)
	s.b.WriteString("}")
}

// file writes a file with some servers.
func (s *scribe) file() string {
	var servers []key
	for i := range s.IntN(4) {
		server := []key{{"command", []string{"x", "'y # z'", `"a b"`, "[x, '}', y]"}[s.IntN(4)]}}
		if s.chance(40) {
			server = append(server, key{"args", "[a, \"b # ]\", it's]"})
		}
		if s.chance(20) {
			server = slices.Insert(server, s.IntN(len(server)+1), key{"dir", lines{"a", "# no comment", "  b"}[:1+s.IntN(3)]})
		}
		if s.chance(40) {
			server = append(server, key{"env", []key{{"A", "1"}, {"B", "'{'"}}})
		}
		if s.chance(20) {
			server = append(server, key{"enabled", "false"})
		}
		servers = append(servers, key{fmt.Sprintf("s%d", i), server})
	}
	levels := []key{{"servers", servers}}
	for _, name := range []string{"config", "mcp"} {
		if len(servers) == 0 && s.chance(30) {
			levels = nil
		}
		levels = []key{{name, levels}}
	}
	if len(servers) == 0 && s.chance(30) {
		levels = nil
	}
	modules := levels
	if s.chance(60) {
		modules = slices.Insert(
			modules,
			s.IntN(len(modules)+1),
			key{"filesystem", []key{{"config", []key{{"max_bytes", "5"}}}}},
			key{"shell", []key{}},
		)
	}
	tools := []key{{"modules", modules}}
	if len(levels) == 0 && s.chance(40) {
		tools = nil
	}
	if s.chance(50) {
		tools = slices.Insert(tools, s.IntN(len(tools)+1), key{"dirs", "[a, b]"}, key{"capabilities", []key{{"default_policy", "auto"}}})
	}
	top := []key{{"tools", tools}}
	if s.chance(70) {
		top = slices.Insert(top, s.IntN(2), key{"app", []key{{"name", "x"}, {"description", lines{"tools:", "  modules: {", "# no comment"}}}})
	}
	if s.chance(10) {
		s.b.WriteString("---\n")
	}
	s.block(top, 0)
	text := s.b.String()
	if s.chance(20) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if s.chance(20) {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

var remark = regexp.MustCompile(`# c\d+ `)

// Edits of files of any shape lose no comment that is not the server's own,
// and what is added can be taken away again.
func TestRandomFiles(t *testing.T) {
	const files = 100
	edited := 0
	for seed := range uint64(files) {
		s := &scribe{Rand: rand.New(rand.NewPCG(seed, 1)), width: 1 + int(seed%4)}
		text := s.file()
		a, err := app.Parse(app.Filename, []byte(text), known)
		if err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		fresh := made(byte(s.IntN(4)), "new", "run", "a|"+texts[s.IntN(len(texts))], "key")
		out, err := edit.AddServer([]byte(text), fresh, builtin)
		if sound(t, text, out, err, fresh) {
			edited++
			back, err := edit.RemoveServer(out, "new")
			if err != nil || len(a.Servers) > 0 && string(back) != text {
				t.Errorf("%d: %v; not as it was\n%s\n%s", seed, err, text, back)
			}
		}
		for _, old := range a.Servers {
			old.Concurrency = 7
			out, err := edit.ReplaceServer([]byte(text), old)
			sound(t, text, out, err, old)
			less := app.Server{Name: old.Name, Command: "other", Pin: true}
			if out, err = edit.ReplaceServer([]byte(text), less); err == nil {
				compare(t, []byte(text), out, less, true)
			} else if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%d: %v\n%s", seed, err, text)
			}
			out, err = edit.RemoveServer([]byte(text), old.Name)
			if err == nil {
				compare(t, []byte(text), out, old, false)
			} else if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%d: %v\n%s", seed, err, text)
			}
		}
	}
	if edited < files*9/10 {
		t.Errorf("only %d of %d files could be edited", edited, files)
	}
}

// sound checks an edit that takes nothing away, and reports whether it was made.
func sound(t *testing.T, text string, out []byte, err error, s app.Server) bool {
	t.Helper()
	if err != nil {
		if tool.KindOf(err) != tool.Invalid {
			t.Errorf("%v\n%s", err, text)
		}
		return false
	}
	if was, is := remark.FindAllString(text, -1), remark.FindAllString(string(out), -1); !slices.Equal(was, is) {
		t.Errorf("the comments differ: %v, %v\n%s\n%s", was, is, text, out)
	}
	compare(t, []byte(text), out, s, true)
	return true
}
