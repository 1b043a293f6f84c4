package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"callgate/internal/importer/configtree"
	"callgate/internal/importer/jsonc"
	"callgate/internal/importer/toml"
	"callgate/tool"
)

const (
	maxBytes    = 32 << 20 // some clients keep their history in the same file
	maxServers  = 500
	maxProblems = 50
)

// file is a config and the path of its servers.
type file struct {
	source  Source
	client  client
	text    []byte
	lines   configtree.Lines
	root    *configtree.Value
	path    []string
	own     bool              // its client looks there
	servers *configtree.Value // nil: it has none
}

// open reads a config down to its servers.
func open(s Source, env Env) (*file, *Problem) {
	f := &file{source: s, client: clientOf(s)}
	whole := func(format string, args ...any) *Problem {
		return &Problem{Path: s.Path, Text: fmt.Sprintf(format, args...)}
	}
	var err error
	if f.text, err = readFile(s.Path); err != nil {
		return nil, whole("it cannot be read: %v", err)
	}
	if len(f.text) > maxBytes {
		return nil, whole("it is larger than %d MiB, so it was not read", maxBytes>>20)
	}
	f.lines = configtree.NewLines(f.text)
	if f.client.toml {
		var doc *toml.Document
		if doc, err = toml.Parse(f.text); err == nil {
			f.root = doc.Root
		}
	} else {
		f.root, err = jsonc.Parse(f.text)
	}
	if err != nil {
		return nil, f.syntaxProblem(err)
	}
	if f.root != nil && f.root.Kind != configtree.Object {
		return nil, f.problem(f.root.From, "the file should hold an object, and it holds %s", f.root.Kind)
	}
	f.path, f.own = f.client.path(f.root, s, env.GOOS)
	return f, f.descend()
}

// descend finds the servers. No level on the way may be written twice.
func (f *file) descend() *Problem {
	level := f.root
	for _, key := range f.path {
		if level == nil {
			return nil
		}
		if twice, ok := level.SecondMember(key); ok {
			return f.problem(twice.At, "%q stands here a second time; keep one of the two", key)
		}
		if level = level.Get(key); level != nil && level.Kind == configtree.Null {
			return nil
		}
		if level != nil && level.Kind != configtree.Object {
			return f.problem(level.From, "%q should be an object of servers, and it is %s", key, level.Kind)
		}
	}
	f.servers = level
	return nil
}

func (f *file) problem(at int, format string, args ...any) *Problem {
	return &Problem{Path: f.source.Path, Line: f.lines.Of(at), Text: fmt.Sprintf(format, args...)}
}

// syntaxProblem is the problem of a text that cannot be parsed.
func (f *file) syntaxProblem(err error) *Problem {
	var m *configtree.SyntaxError
	if errors.As(err, &m) {
		return f.problem(m.At, "%s", m.What)
	}
	return &Problem{Path: f.source.Path, Text: err.Error()}
}

// readFile returns a file's first bytes, one more than are allowed at most.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening, which would wait on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxBytes+1))
}

// reader reads the servers of one file.
type reader struct {
	*file
	env      Env
	opt      Options
	problems []Problem
	inputs   map[string]string // what a client would ask for, by its id
	off      []string          // servers that are turned off elsewhere in the file
	only     []string          // if there are any: the servers that are on
}

// Read reads the servers of a config. Their names are made valid and unique
// within it; see [Merge] for several configs.
func Read(s Source, env Env, o Options) ([]FoundServer, []Problem) {
	env = env.withDefaults()
	f, problem := open(s, env)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	r := &reader{file: f, env: env, opt: o}
	return r.read(), r.problems
}

func (r *reader) read() (found []FoundServer) {
	if r.isRegistry() {
		return r.registry()
	}
	r.around()
	if r.servers == nil {
		return nil
	}
	if twice, ok := r.servers.Duplicate(); ok {
		r.fail(twice.At, "the server %s stands here a second time; keep one of the two", quote(twice.Name))
		return nil
	}
	for i, m := range r.servers.Members {
		if i == maxServers {
			r.fail(m.At, "it names more than %d servers, and the rest was not read", maxServers)
			break
		}
		if one, ok := r.server(m); ok {
			found = append(found, one)
		}
	}
	return Merge(found)
}

// fail keeps a problem, up to a limit.
func (r *reader) fail(at int, format string, args ...any) {
	switch {
	case len(r.problems) < maxProblems:
		r.problems = append(r.problems, *r.problem(at, format, args...))
	case len(r.problems) == maxProblems:
		r.problems = append(r.problems, Problem{Path: r.source.Path, Text: "there is more wrong with it"})
	}
}

// around reads what the file says about its servers outside their entries.
func (r *reader) around() {
	r.inputs = map[string]string{}
	if inputs := r.root.Get("inputs"); inputs != nil {
		for i := range inputs.Items {
			if id := inputs.Items[i].Get("id"); id != nil {
				text := ""
				if d := inputs.Items[i].Get("description"); d != nil {
					text = d.Text
				}
				r.inputs[id.Text] = text
			}
		}
	}
	switch r.client.name {
	case "gemini-cli", "qwen-code":
		r.only, r.off = words(r.root.Get("mcp").Get("allowed")), words(r.root.Get("mcp").Get("excluded"))
	case "claude-code":
		if folder := r.env.Workspace; folder != "" {
			project := r.root.Get("projects").Get(folderKey(r.root, folder, r.env.GOOS))
			r.off = words(project.Get("disabledMcpServers"))
		}
	}
}

// words returns the texts of a list.
func words(v *configtree.Value) []string {
	if v == nil {
		return nil
	}
	var list []string
	for _, item := range v.Items {
		if item.Kind == configtree.Text {
			list = append(list, item.Text)
		}
	}
	return list
}

// isOff reports whether a server is turned off elsewhere in its file.
func (r *reader) isOff(name string) bool {
	return slices.Contains(r.off, name) || len(r.only) > 0 && !slices.Contains(r.only, name)
}

// quote shows a piece of a file in a sentence.
func quote(s string) string { return fmt.Sprintf("%q", tool.TruncateTo(s, 60)) }
