package app

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

const (
	maxPrompt  = 64 << 10 // bytes of a prompt or a skill
	maxInclude = 256 << 10
)

// fileText reads a file beside the app file. It must lie in the app's folder,
// wherever links lead.
func (d *decoder) fileText(e entry, most int64) (text, full string) {
	const out = "name a file in the app's own folder, relative to the app file"
	name, ok := d.text(e)
	if !ok {
		return "", ""
	}
	if filepath.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		d.fail(e.at, out, "%s is %s, which is not in the app's folder", e.name(), quote(name))
		return "", ""
	}
	data, err := readSibling(d.folder, filepath.FromSlash(name), most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.fail(e.at, out, "there is no file %s", quote(name))
	case err != nil:
		d.fail(e.at, out, "%s cannot be read: %v", quote(name), err)
	case int64(len(data)) > most:
		d.fail(e.at, "shorten it", "%s is longer than %d KiB", quote(name), most>>10)
	case !utf8.Valid(data):
		d.fail(e.at, "save it as UTF-8", "%s is not text", quote(name))
	default:
		return string(data), filepath.Join(d.folder, filepath.FromSlash(name))
	}
	return "", ""
}

// readSibling reads a file through its folder, so that no link leads out of it.
func readSibling(folder, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name) // before opening, which would wait on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// skillsBlock reads the skills of an app.
func (d *decoder) skillsBlock(e entry) {
	const form = "write each skill as {command: release, description: how a release is made, path: skills/release.md}"
	if e.null() {
		return
	}
	for _, in := range d.items(e, "a list of skills", form) {
		var s Skill
		d.mapping(levelSkill, in, map[string]reader{
			"command":     d.textInto(&s.Command),
			"description": d.label(&s.Description),
			"path":        func(p entry) { s.Content, s.Path = d.fileText(p, maxPrompt) },
		})
		s.Command = strings.TrimPrefix(s.Command, "/")
		at := d.places[in.path+".command"]
		switch {
		case s.Command == "":
			d.fail(in.at, form, "%s has no command", in.name())
		case len(s.Command) > maxID || strings.Trim(s.Command, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "":
			d.fail(at, "use letters, digits, - and _", "a skill cannot be called %s", quote(s.Command))
		case d.places[in.path+".path"] == (position{}):
			d.fail(in.at, form, "%s has no path", in.name())
		case slices.ContainsFunc(d.app.Skills, func(o Skill) bool { return o.Command == s.Command }):
			d.fail(at, "give one of them another command", "there are two skills %s", quote(s.Command))
		default:
			s.Dir = filepath.Dir(s.Path)
			d.app.Skills = append(d.app.Skills, s)
		}
	}
}

// includeBlock reads agents out of other files.
func (d *decoder) includeBlock(e entry) {
	d.mapping(levelInclude, e, map[string]reader{"agents": func(in entry) {
		for _, file := range d.items(in, "a list of files", "write each file on a line of its own, such as - agents/reviewer.yaml") {
			d.includeAgents(file)
		}
	}})
}

// includeAgents reads one file: an agent, or a list of them. Its mistakes are
// told with its own name and lines.
func (d *decoder) includeAgents(e entry) {
	text, full := d.fileText(e, maxInclude)
	if full == "" {
		return
	}
	outer, places := d.report, d.places
	d.report, d.places = &report{file: full}, map[string]position{}
	defer func() {
		d.included = append(d.included, d.report)
		d.report, d.places = outer, places
	}()
	root := d.report.parse([]byte(text))
	if root == nil {
		return
	}
	in := entry{value: root, at: at(root)}
	if _, one := root.(ast.MapNode); one {
		d.agent(in)
		return
	}
	d.agentsBlock(in)
}

// middleware reads a list of what stands around calls or words: each a name, or
// {name: {…}}.
func (d *decoder) middleware(e entry, kinds map[string]func(entry, *Middleware)) []Middleware {
	known := make([]string, 0, len(kinds))
	for k := range kinds {
		known = append(known, k)
	}
	slices.Sort(known)
	form := "write - " + strings.Join(known, ", - ") + ", or with settings - retry: {attempts: 3}"
	if e.null() {
		return nil
	}
	var out []Middleware
	add := func(kind string, at position, settings entry) {
		read, ok := kinds[kind]
		switch {
		case ok:
			m := Middleware{Kind: kind}
			read(settings, &m)
			out = append(out, m)
		case slices.Contains(strings.Fields(unbuiltMiddleware), kind):
			d.fail(at, "delete it for now; there is "+strings.Join(known, ", "), "the middleware %s is not built yet", kind)
		default:
			d.fail(at, didYouMean(kind, known, "there is"), "there is no middleware %s here", quote(kind))
		}
	}
	for _, in := range d.items(e, "a list", form) {
		if _, ok := in.value.(ast.MapNode); !ok {
			if kind, ok := d.text(in); ok {
				add(kind, in.at, entry{path: in.path, value: ast.Null(nil), at: in.at})
			}
			continue
		}
		for _, m := range d.entries(in, form) {
			add(m.key, m.keyAt, m)
		}
	}
	return out
}

const unbuiltMiddleware = "prompt_inject rag_inject response_filter"

// callMiddleware are the middlewares of a module.
func (d *decoder) callMiddleware() map[string]func(entry, *Middleware) {
	return map[string]func(entry, *Middleware){
		"audit": func(e entry, _ *Middleware) { d.mapping(levelMiddleware, e, nil) },
		"retry": func(e entry, m *Middleware) {
			seconds := 1
			m.Attempts, m.On = 3, []string{"unavailable", "timeout"}
			d.mapping(levelMiddleware, e, map[string]reader{
				"attempts":        d.number(&m.Attempts, 1, 5, "write how often it is tried in all, from 1 to 5"),
				"backoff_seconds": d.number(&seconds, 0, 60, "write how many seconds to wait before the second try"),
				"on":              d.retryOn(&m.On),
			})
			m.Backoff = time.Duration(seconds) * time.Second
		},
		"timeout": func(e entry, m *Middleware) {
			seconds := 0
			d.mapping(levelMiddleware, e, map[string]reader{"seconds": d.number(&seconds, 1, 86_400, "write how many seconds a call may take")})
			if seconds == 0 && d.places[e.path+".seconds"] == (position{}) {
				d.fail(e.at, "write - timeout: {seconds: 30}", "%s does not say how long", e.name())
			}
			m.Limit = time.Duration(seconds) * time.Second
		},
	}
}

func (d *decoder) retryOn(to *[]string) reader {
	known := []string{"unavailable", "timeout", "busy", "limited", "failed"}
	read := d.texts(to, "name kinds of failure, such as [unavailable, timeout]")
	return func(e entry) {
		read(e)
		for i, kind := range *to {
			if kind != "" && !slices.Contains(known, kind) {
				d.fail(d.places[itemPath(e, i)], didYouMean(kind, known, "the kinds are"), "%s is no kind of failure that may pass", quote(kind))
			}
		}
	}
}

// textMiddleware are the middlewares of an app.
func (d *decoder) textMiddleware() map[string]func(entry, *Middleware) {
	return map[string]func(entry, *Middleware){
		"mask_secrets": func(e entry, m *Middleware) {
			d.mapping(levelMiddleware, e, map[string]reader{"patterns": d.patterns(&m.Patterns)})
		},
		"content_filter": func(e entry, m *Middleware) {
			m.Where = "both"
			d.mapping(levelMiddleware, e, map[string]reader{
				"block":   d.patterns(&m.Patterns),
				"where":   d.choice(&m.Where, "input", "output", "both"),
				"message": d.label(&m.Message),
			})
			if len(m.Patterns) == 0 {
				d.fail(e.at, "write block: [\"a regular expression\"]", "%s blocks nothing", e.name())
			}
		},
	}
}

// patterns reads regular expressions.
func (d *decoder) patterns(to *[]string) reader {
	read := d.texts(to, "write regular expressions in quotes")
	return func(e entry) {
		read(e)
		for i, p := range *to {
			if _, err := regexp.Compile(p); err != nil {
				d.fail(d.places[itemPath(e, i)], "mend it; it is written as Go's regexp wants", "%s is no regular expression: %v", quote(p), err)
			}
		}
	}
}
