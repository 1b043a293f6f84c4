// Package sections writes the sections of an app's context for a turn.
//
// # Laws
//
//   - A section is written anew with every turn. Which are told is decided by when, and
//     in which order by priority.
//   - What a file holds is data between marks that it cannot end, with the name of the
//     file: it instructs nobody. The words of the app file are its author's.
//   - Only a file of the user's or of root's is read that nobody else may write, and only
//     in the app's folder and in the workspace, wherever links lead. One that is not there
//     is an error that names it, unless its section is optional.
//   - All sections have a number of bytes together, and a section has [MaxSection]. The
//     first are served first; one that does not fit is cut at the end of a line, and says
//     so. Nothing in them is invisible.
package sections

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/amount"
	"callgate/internal/app/sections"
	"callgate/internal/fence"
	"callgate/tool"
)

// MaxSection bounds the text of one section, in bytes.
const MaxSection = 16 << 10

// Section is what a model is told of one section. Without a text it is not told now.
type Section struct {
	ID, Title, Text string
	Memory          bool // it is what is remembered
}

// Facts are what sections may tell of a turn.
type Facts struct {
	Now                           time.Time
	User, App, Agent, Mode, Model string
	Conversation                  string
	Turn                          int // this one; the first is 1
	Workspace, System, Shell, Git string
	Memory                        string // what is remembered
	MaxBytes                      int    // of all sections
	Clean                         func(string) string
	Accepted                      func(sections.Section) bool // whether a human accepted what it reads
}

func (f Facts) values() map[string]any {
	return map[string]any{
		"datetime": map[string]any{
			"date": f.Now.Format("2006-01-02"), "time": f.Now.Format("15:04"), "weekday": f.Now.Weekday().String(),
			"zone": f.Now.Format("MST"),
		},
		"session": map[string]any{
			"id": f.Conversation, "user": f.User, "app": f.App, "agent": f.Agent, "mode": f.Mode, "model": f.Model,
			"turn": float64(f.Turn),
		},
		"place": map[string]any{"workspace": f.Workspace, "system": f.System, "shell": f.Shell, "git": f.Git},
	}
}

// Write writes all sections, as they are now. With an error, which is about the first file
// that is missing, a section says in its place what is wrong.
func Write(all []sections.Section, f Facts) ([]Section, error) {
	var told []Section
	var first error
	if f.Clean == nil {
		f.Clean = func(text string) string { return text }
	}
	values, left := f.values(), f.MaxBytes
	for _, s := range all {
		text, err := f.section(s, values)
		if err != nil && first == nil {
			first = tool.Errorf("sections.Write", tool.KindOf(err), "the section %s of the app's context: %w", s.ID, err).
				WithHint("make the file, or write optional: true in the app file's runtime.context.sections")
		}
		if err != nil {
			text = "[not read: " + fence.Value(err.Error()) + "]"
		}
		text = strings.TrimSpace(text)
		if text != "" && s.Builtin != sections.MemoryIndex {
			text = cut(text, min(left, MaxSection), len(s.Paths()) > 0)
			left -= len(text)
		}
		told = append(told, Section{ID: s.ID, Title: s.Title, Text: text, Memory: s.Builtin == sections.MemoryIndex})
	}
	return told, first
}

// section writes one section; "": it is not told now.
func (f Facts) section(s sections.Section, values map[string]any) (string, error) {
	holds, err := s.When.Holds(values)
	if !holds || err != nil {
		return "", err
	}
	switch {
	case s.Builtin != "":
		return f.builtin(s.Builtin), nil
	case s.Template != nil:
		return s.Template.TextWith(values, func(expr, value string) string {
			if strings.HasPrefix(strings.TrimSpace(expr), "datetime.") {
				return value
			}
			return fence.Value(f.Clean(value)) // others named it: a branch, a folder
		})
	case len(s.Paths()) > 0:
		if f.Accepted != nil && !f.Accepted(s) {
			return "", nil
		}
		return f.files(s)
	}
	return s.Text, nil
}

func (f Facts) builtin(name string) string {
	var lines []string
	line := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+fence.Value(value))
		}
	}
	switch name {
	case sections.Datetime:
		return f.Now.Format("Monday, 2006-01-02 15:04 MST")
	case sections.User:
		line("User", f.User)
	case sections.Session:
		line("Conversation", f.Conversation)
		line("App", f.App)
		line("Agent", f.Agent)
		line("Mode", f.Mode)
		line("Model", f.Model)
	case sections.Environment:
		line("Workspace", f.Workspace)
		line("System", f.System)
		line("Shell", f.Shell)
		line("Git", f.Git)
	case sections.MemoryIndex:
		return f.Memory
	}
	return strings.Join(lines, "\n")
}

// files writes the files of a section, each between marks.
func (f Facts) files(s sections.Section) (string, error) {
	var b strings.Builder
	add := func(found file) {
		if strings.TrimSpace(found.text) == "" {
			return
		}
		fmt.Fprintf(&b, "%s:\n%s\n", fence.Value(found.name), fence.Data(strings.TrimSpace(f.Clean(found.text))))
	}
	read := func(path string) error {
		all, err := f.read(s, path)
		if errors.Is(err, fs.ErrNotExist) && s.Optional {
			return nil
		}
		for _, one := range all {
			add(one)
		}
		return err
	}
	for _, path := range s.Paths() {
		if err := read(path); err != nil {
			return "", err
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	return fence.Follows + b.String(), nil
}

// cut shortens a text to a number of bytes, at the end of a line where there is one. Data
// that is cut keeps its mark.
func cut(text string, limit int, isData bool) string {
	if len(text) <= limit {
		return text
	}
	at := max(limit, 0)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	if i := strings.LastIndexByte(text[:at], '\n'); i > 0 {
		at = i
	}
	end := ""
	if isData && strings.Count(text[:at], "<data>") > strings.Count(text[:at], "</data>") {
		end = "\n</data>"
	}
	return fmt.Sprintf("%s%s\n[the first %s of %s; read the rest where you need it]",
		text[:at], end, amount.Of(at, "byte"), amount.Of(len(text), "byte"))
}
