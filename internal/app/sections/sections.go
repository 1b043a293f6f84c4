// Package sections reads the sections of an app's context (runtime.context.sections):
// what its models are told anew with every turn.
//
// Law: a section has exactly one source, and what it refers to is checked when the file is
// read. Its files lie in the app's folder or in the workspace; a section gives no right
// to change them.
package sections

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/condition"
)

// Level is the level of the file.
const Level = "runtime.context.sections"

// MaxText bounds the words of one section that the app file itself has, in bytes.
const MaxText = 16 << 10

const (
	maxSections = 50
	maxFiles    = 20
	// priority is that of a section that names none.
	priority = 50
)

// Section is one part of what a model is told with every turn.
type Section struct {
	ID, Title string
	Source
	When     *When // nil: always
	Optional bool  // files that are not there are passed over
	Priority int   // the lower is told first
	Folder   string
	FromUser bool // it is in the user's own file
}

// Source is where the text of a section comes from. One of its fields is set.
type Source struct {
	Builtin  string
	Files    []string // absolute, or in Section.Folder
	Dir      string   // the same
	Template *condition.Template
	Text     string
}

// Paths are the files and folders that the section reads.
func (s Source) Paths() []string {
	if s.Dir != "" {
		return []string{s.Dir}
	}
	return s.Files
}

// The builtin sources.
const (
	Datetime    = "datetime"
	User        = "user"
	Session     = "session"
	Environment = "env"
	MemoryIndex = "memory_index"
)

// Env is what templates and conditions may speak of.
func Env() condition.Env {
	fields := func(names ...string) condition.Type {
		t := condition.Type{Kind: condition.Map, Fields: map[string]condition.Type{}, Closed: true}
		for _, name := range names {
			t.Fields[name] = condition.Type{Kind: condition.Text}
		}
		return t
	}
	session := fields("id", "user", "app", "agent", "mode", "model")
	session.Fields["turn"] = condition.Type{Kind: condition.Number}
	return condition.Env{Roots: map[string]condition.Type{
		"datetime": fields("date", "time", "weekday", "zone"),
		"session":  session,
		"place":    fields("workspace", "system", "shell", "git"),
	}}
}

// Place is where an app file is.
type Place struct {
	Folder   string // of the file
	Workdir  string // where its agents work
	FromUser bool
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Read reads the sections, in the order in which they are told.
func Read(r *node.Reader, e node.Entry, at Place) []Section {
	const form = "write each as - id: notes, with title and one of builtin, file, files, dir, template, text"
	b := reader{Reader: r.WithoutEnv(), at: at}
	var all []Section
	if e.IsNull() {
		return nil
	}
	for _, in := range r.Items(e, "a list of sections", form) {
		s := b.section(in)
		if slices.ContainsFunc(all, func(o Section) bool { return o.ID == s.ID && s.ID != "" }) {
			r.Fail(in.At, "give one of them another id", "there are two sections %s", node.Quote(s.ID))
		}
		all = append(all, s)
	}
	if len(all) > maxSections {
		r.Fail(e.At, "put some of them together", "there are %d sections, and %d are allowed", len(all), maxSections)
	}
	Sort(all)
	return all
}

// Sort puts sections in the order in which they are told.
func Sort(all []Section) {
	slices.SortStableFunc(all, func(a, b Section) int { return a.Priority - b.Priority })
}

type reader struct {
	*node.Reader
	at Place
}

func (r reader) section(e node.Entry) Section {
	s := Section{Priority: priority, Folder: r.at.Folder, FromUser: r.at.FromUser}
	var sources []string
	source := func(read node.Read) node.Read {
		return func(in node.Entry) {
			sources = append(sources, in.Key)
			read(in)
		}
	}
	r.Mapping(Level, e, map[string]node.Read{
		"id":       r.id(&s),
		"title":    r.Label(&s.Title),
		"builtin":  source(r.builtin(&s)),
		"file":     source(r.file(&s)),
		"files":    source(r.files(&s)),
		"dir":      source(r.path(&s.Dir)),
		"template": source(r.template(&s)),
		"text":     source(r.text(&s)),
		"optional": r.Boolean(&s.Optional, "write true: a file that is not there is passed over"),
		"writable": r.writable,
		"when":     r.when(&s),
		"priority": r.Number(&s.Priority, 0, 1000, "write a number from 0 to 1000; the lower is told first"),
	})
	if s.Title == "" {
		s.Title = s.ID
	}
	const one = "write one of builtin, file, files, dir, template, text"
	switch {
	case s.ID == "" && r.Position(e.Below("id")) == (node.Position{}):
		r.Fail(e.At, "write id: and a name of its own, such as notes", "%s has no id", e.Name())
	case len(sources) == 0:
		r.Fail(e.At, one, "%s has no source", e.Name())
	case len(sources) > 1:
		r.Fail(r.Position(e.Below(sources[1])), one,
			"%s has %s, and may have one source", e.Name(), strings.Join(sources, " and "))
	}
	return s
}

func (r reader) id(s *Section) node.Read {
	return func(e node.Entry) {
		id, ok := r.Text(e)
		if ok && !idForm.MatchString(id) {
			r.Fail(e.At, "use letters, digits, - and _, at most 64", "%s cannot name a section", node.Quote(id))
			return
		}
		s.ID = id
	}
}

func (r reader) builtin(s *Section) node.Read {
	read := r.Choice(&s.Builtin, Datetime, User, Session, Environment, MemoryIndex)
	return func(e node.Entry) {
		if word, _ := e.Scalar(); word == "code_index" {
			r.Fail(e.At, "write dir: or files: for what models must always see; they find the rest with filesystem.grep and "+
				"filesystem.glob", "there is no index of the code")
			return
		}
		read(e)
	}
}

func (r reader) file(s *Section) node.Read {
	return func(e node.Entry) {
		var path string
		r.path(&path)(e)
		s.Files = []string{path}
	}
}

func (r reader) files(s *Section) node.Read {
	return func(e node.Entry) {
		for _, in := range r.Items(e, "a list of files", "write one file on each line, such as - docs/style.md") {
			var path string
			r.path(&path)(in)
			s.Files = append(s.Files, path)
		}
		if n := len(s.Files); n == 0 || n > maxFiles {
			r.Fail(e.At, "name some, or delete the section; a folder of them is dir:",
				"%s names %d files, and may name 1 to %d", e.Name(), n, maxFiles)
		}
	}
}

// path reads the path of a file or a folder: in the app's folder, or {{workdir}} and what
// is below it.
func (r reader) path(to *string) node.Read {
	return func(e node.Entry) {
		text, ok := r.Text(e)
		if !ok {
			return
		}
		path := filepath.Clean(filepath.FromSlash(text))
		if !filepath.IsLocal(path) && !below(r.at.Workdir, path) && !below(r.at.Folder, path) {
			r.Fail(e.At, "name what lies in the app's folder, relative to the app file, or {{workdir}}/ and what lies there",
				"%s is %s, which is neither in the app's folder nor in the workspace", e.Name(), node.Quote(text))
			return
		}
		*to = path
	}
}

// below reports whether a path is a folder or lies in it, as they are written.
func below(folder, path string) bool {
	if folder == "" || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func (r reader) text(s *Section) node.Read {
	return func(e node.Entry) {
		r.TextInto(&s.Text)(e)
		r.bound(e, s.Text)
	}
}

func (r reader) bound(e node.Entry, text string) {
	if len(text) > MaxText {
		r.Fail(e.At, "put it into a file of which a model reads what it needs",
			"%s is longer than %d KiB", e.Name(), MaxText>>10)
	}
}

func (r reader) template(s *Section) node.Read {
	return func(e node.Entry) {
		env := Env()
		var roots []string
		for root := range env.Roots {
			roots = append(roots, root)
		}
		text, ok := r.WithTemplates(roots).Text(e)
		if !ok {
			return
		}
		r.bound(e, text)
		t, err := condition.CompileText(text, env)
		if err != nil {
			r.FailExpression(e, err)
		}
		s.Template = t
	}
}

func (r reader) when(s *Section) node.Read {
	return func(e node.Entry) {
		text, ok := r.Text(e)
		if !ok {
			return
		}
		w, err := CompileWhen(text)
		if err != nil {
			r.FailExpression(e, err)
			return
		}
		s.When = w
	}
}

// writable is a key of which only false is true: what an agent may write is said by the
// rules, where a human sees it.
func (r reader) writable(e node.Entry) {
	var yes bool
	r.Boolean(&yes, "write false, or leave it out")(e)
	if yes {
		r.Fail(e.At, "grant it: tools.capabilities.grant: [{module: filesystem, actions: [write, edit], match: {path: …}}]",
			"%s: a section gives no right to write; the rules do", e.Name())
	}
}
