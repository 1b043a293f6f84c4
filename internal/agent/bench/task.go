package bench

import (
	"bytes"
	"embed"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"callgate/internal/agent/bench/scripted"
	"callgate/tool"
)

// tasks are the suite, a file for each.
//
//go:embed tasks/*.yaml
var tasks embed.FS

// Task is one thing that an agent is asked for, and how it is known whether it was
// done.
type Task struct {
	Name string `yaml:"-"`
	Kind string `yaml:"kind"` // what of an agent it measures
	Ask  string `yaml:"ask"`  // the request

	Files        map[string]File  `yaml:"files"` // of the workspace
	Runtime      map[string]any   `yaml:"runtime"`
	Capabilities map[string]any   `yaml:"capabilities"`
	Tools        int              `yaml:"tools"` // executables beside the modules
	Faults       []scripted.Fault `yaml:"faults"`
	Only         []string         `yaml:"only"`    // the forms it is for; none: all
	Seconds      int              `yaml:"seconds"` // how long it may take; 0: 60
	Plan         []scripted.Step  `yaml:"plan"`    // what a capable model makes of the request
	Check        Check            `yaml:"check"`
}

// File is a file of a workspace: its text, or how it is made.
type File struct {
	Text   string
	Lines  int            // so many lines of Text, in which %d is the number
	At     map[int]string // lines that are different
	Copies int            // so many files; %d in the path and in the text is the number
	CRLF   bool
	Colour string // it is a picture in this colour, rrggbb
}

// UnmarshalYAML takes a text, or how one is made.
func (f *File) UnmarshalYAML(read func(any) error) error {
	if read(&f.Text) == nil {
		return nil
	}
	var made struct {
		Text   string         `yaml:"text"`
		Lines  int            `yaml:"lines"`
		At     map[int]string `yaml:"at"`
		Copies int            `yaml:"copies"`
		CRLF   bool           `yaml:"crlf"`
		Colour string         `yaml:"colour"`
	}
	err := read(&made)
	*f = File(made)
	return err
}

// Check says what must be true at the end.
type Check struct {
	Answer string            `yaml:"answer"` // a regular expression that the last words fit
	Told   string            `yaml:"told"`   // or one that the notices, or the end of the turn, fit
	Files  map[string]string `yaml:"files"`  // regular expressions that files fit
	Absent []string          `yaml:"absent"` // files that are not there
	Run    string            `yaml:"run"`    // a command that ends well in the workspace
	Called string            `yaml:"called"` // one that a call which reached its tool fits: its name and arguments
}

// Tasks returns the suite, in the order of the names.
func Tasks() ([]Task, error) {
	names, err := fs.Glob(tasks, "tasks/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Task
	for _, name := range names {
		text, err := tasks.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t := Task{Name: strings.TrimSuffix(filepath.Base(name), ".yaml")}
		if err := yaml.UnmarshalWithOptions(text, &t, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// Select returns the tasks whose name or kind is one of names; all without names.
func Select(all []Task, names []string) ([]Task, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []Task
	for _, name := range names {
		n := len(some)
		for _, t := range all {
			if t.Name == name || t.Kind == name {
				some = append(some, t)
			}
		}
		if len(some) == n {
			var known []string
			for _, t := range all {
				known = append(known, t.Name)
			}
			return nil, tool.Errorf("bench.Select", tool.NotFound, "no task is called %q", name).
				WithHint("there are %s", strings.Join(known, ", "))
		}
	}
	return some, nil
}

// fits reports whether a task is for a form.
func (t *Task) fits(form string) bool { return len(t.Only) == 0 || slices.Contains(t.Only, form) }

// write makes the files of a workspace.
func (t *Task) write(dir string) error {
	for name, f := range t.Files {
		for n := range max(1, f.Copies) {
			to := filepath.Join(dir, filepath.FromSlash(strings.ReplaceAll(name, "%d", fmt.Sprint(n+1))))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			mode := os.FileMode(0o644)
			if filepath.Ext(to) == ".sh" {
				mode = 0o755
			}
			if err := os.WriteFile(to, f.content(n+1), mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// content is what the n-th copy of a file holds.
func (f File) content(n int) []byte {
	if f.Colour != "" {
		return picture(f.Colour)
	}
	var b strings.Builder
	if f.Lines == 0 {
		text := f.Text
		if f.Copies > 0 {
			text = strings.ReplaceAll(text, "%d", fmt.Sprint(n))
		}
		b.WriteString(text)
	}
	for i := range f.Lines {
		line, ok := f.At[i+1]
		if !ok {
			line = strings.ReplaceAll(f.Text, "%d", fmt.Sprint(i+1))
		}
		b.WriteString(line + "\n")
	}
	if f.CRLF {
		return []byte(strings.ReplaceAll(b.String(), "\n", "\r\n"))
	}
	return []byte(b.String())
}

// picture is a small PNG file in one colour.
func picture(colour string) []byte {
	var c color.RGBA
	_, _ = fmt.Sscanf(colour, "%02x%02x%02x", &c.R, &c.G, &c.B)
	c.A = 0xff
	p := image.NewRGBA(image.Rect(0, 0, 16, 16))
	draw.Draw(p, p.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	var b bytes.Buffer
	_ = png.Encode(&b, p) // into memory
	return b.Bytes()
}

// fitsPattern reports whether a text fits an expression; . is also a line's end.
func fitsPattern(expr, text string) bool { return regexp.MustCompile(`(?s)` + expr).MatchString(text) }
