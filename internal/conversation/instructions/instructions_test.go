package instructions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/conversation/instructions"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folder is a new folder under the name that links lead to.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// told is what is read, in a line each.
func told(root string, files []instructions.File) string {
	var lines []string
	for _, f := range files {
		rel, _ := filepath.Rel(root, f.Path)
		line := filepath.ToSlash(rel) + ": " + strings.TrimSpace(f.Text)
		if f.User {
			line = "user " + line
		}
		if f.Cut {
			line += " (cut)"
		}
		if f.Problem != "" {
			line += "(" + f.Problem + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRead(t *testing.T) {
	t.Parallel()
	const long = "one\ntwo\nthree\n"
	const elsewhere = "it is a link to something else than a file of instructions in this project"
	for name, c := range map[string]struct {
		files map[string]string
		links map[string]string // to → where
		max   int
		want  string
	}{
		"none":                        {nil, nil, 100, ""},
		"the outermost first":         {map[string]string{"AGENTS.md": "a", "p/AGENTS.md": "b", "p/q/AGENTS.md": "c"}, nil, 100, "AGENTS.md: a\np/AGENTS.md: b\np/q/AGENTS.md: c"},
		"the user's before all":       {map[string]string{"user/AGENTS.md": "u", "AGENTS.md": "a"}, nil, 100, "user user/AGENTS.md: u\nAGENTS.md: a"},
		"CLAUDE.md alone":             {map[string]string{"CLAUDE.md": "c"}, nil, 100, "CLAUDE.md: c"},
		"CLAUDE.md beside AGENTS.md":  {map[string]string{"CLAUDE.md": "c", "AGENTS.md": "a"}, nil, 100, "AGENTS.md: a"},
		"each folder by itself":       {map[string]string{"CLAUDE.md": "c", "p/AGENTS.md": "a"}, nil, 100, "CLAUDE.md: c\np/AGENTS.md: a"},
		"an empty one":                {map[string]string{"AGENTS.md": ""}, nil, 100, ""},
		"cut at a line":               {map[string]string{"AGENTS.md": long}, nil, 9, "AGENTS.md: one\ntwo (cut)"},
		"one long line":               {map[string]string{"AGENTS.md": "ééééé"}, nil, 5, "AGENTS.md: éé (cut)"},
		"the nearest is served first": {map[string]string{"AGENTS.md": long, "p/q/AGENTS.md": long}, nil, len(long) + 4, "AGENTS.md: one (cut)\np/q/AGENTS.md: one\ntwo\nthree"},
		"nothing is left":             {map[string]string{"AGENTS.md": long, "p/q/AGENTS.md": long}, nil, len(long), "AGENTS.md:  (cut)\np/q/AGENTS.md: one\ntwo\nthree"},
		"imports are not followed":    {map[string]string{"AGENTS.md": "@other.md", "other.md": "secret"}, nil, 100, "AGENTS.md: @other.md"},
		"invisible text is shown":     {map[string]string{"AGENTS.md": "\ufeffa\u200bb\r\nc"}, nil, 100, "AGENTS.md: a⟨U+200B⟩b\nc"},
		"no text":                     {map[string]string{"AGENTS.md": "a\x00b"}, nil, 100, "AGENTS.md: (it is no text)"},
		"a link to the other":         {map[string]string{"CLAUDE.md": "c"}, map[string]string{"AGENTS.md": "CLAUDE.md"}, 100, "AGENTS.md: c"},
		"a link to the root's":        {map[string]string{"AGENTS.md": "a"}, map[string]string{"p/AGENTS.md": "../AGENTS.md"}, 100, "AGENTS.md: a\np/AGENTS.md: a"},
		"a link to another file":      {map[string]string{".env": "KEY=1"}, map[string]string{"AGENTS.md": ".env"}, 100, "AGENTS.md: (" + elsewhere + ")"},
		"a link out of the project":   {map[string]string{"../AGENTS.md": "x"}, map[string]string{"AGENTS.md": "../AGENTS.md"}, 100, "AGENTS.md: (" + elsewhere + ")"},
		"a link to nothing":           {nil, map[string]string{"AGENTS.md": "nothing"}, 100, "AGENTS.md: (it is a link to nothing)"},
		"a folder":                    {map[string]string{"AGENTS.md/x": "x"}, nil, 100, "AGENTS.md: (it is no regular file)"},
		"the user's may be a link":    {map[string]string{"elsewhere.md": "u"}, map[string]string{"user/AGENTS.md": "../elsewhere.md"}, 100, "user user/AGENTS.md: u"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(folder(t), "project")
			if err := os.MkdirAll(filepath.Join(root, "p", "q"), 0o700); err != nil {
				t.Fatal(err)
			}
			for path, text := range c.files {
				write(t, filepath.Join(root, path), text)
			}
			for path, to := range c.links {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, filepath.Join(root, path)); err != nil {
					t.Skip("this system makes no links here")
				}
			}
			got := instructions.Read(instructions.Options{
				Folders: []string{filepath.Join(root, "p", "q"), filepath.Join(root, "p"), root},
				User:    filepath.Join(root, "user", "AGENTS.md"), MaxBytes: c.max,
			})
			if text := told(root, got); text != c.want {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
		})
	}
}

// A project's memory is shown last and in part, and no link leads to it.
func TestMemory(t *testing.T) {
	t.Parallel()
	root := folder(t)
	write(t, filepath.Join(root, "AGENTS.md"), "a")
	write(t, filepath.Join(root, ".digitorn.md"), "old")
	write(t, filepath.Join(root, "p", "x"), "")
	read := func() string {
		memory := instructions.MemoryFile([]string{filepath.Join(root, "p"), root})
		return told(root, instructions.Read(instructions.Options{Folders: []string{root}, Memory: memory, MaxBytes: 10_000}))
	}
	if got := read(); got != "AGENTS.md: a\n.digitorn.md: old" {
		t.Errorf("%s", got)
	}
	write(t, filepath.Join(root, ".callgate.md"), strings.Repeat("fact\n", 1000))
	if got := read(); !strings.HasSuffix(got, "(cut)") || len(got) > 4100 {
		t.Errorf("%d bytes", len(got))
	}
	write(t, filepath.Join(root, "secret"), "secret")
	if err := os.Symlink("../secret", filepath.Join(root, "p", ".callgate.md")); err != nil {
		t.Skip(err)
	}
	if got := read(); strings.Contains(got, "secret\n") || !strings.Contains(got, "p/.callgate.md: (it is a link") {
		t.Errorf("%s", got)
	}
	if got := instructions.MemoryFile([]string{filepath.Join(root, "none")}); got != "" {
		t.Error(got)
	}
}

// Whatever a file holds, what is shown of it is text within its bound.
func FuzzRead(f *testing.F) {
	f.Add([]byte("# Rules\n"), 5)
	f.Add([]byte("\xff\xfeé\u202e\n\n"), 3)
	f.Add([]byte{}, 0)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		limit = min(max(limit, 0), 1<<20)
		for _, file := range instructions.Read(instructions.Options{Folders: []string{dir}, MaxBytes: limit}) {
			if len(file.Text) > limit || !utf8.ValidString(file.Text) || strings.ContainsAny(file.Text, "\x00\x1b\u202e") {
				t.Errorf("%q of %q", file.Text, data)
			}
		}
	})
}
