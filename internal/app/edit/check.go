package edit

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"callgate/internal/app"
	"callgate/tool"
)

// editor is a text that is to be edited, with what it means.
type editor struct {
	op      string
	doc     *document
	before  *app.App
	builtin []string // the modules that are on where none is listed
	known   app.KnownModules
	literal bool // it is read with its variables as they stand
	listed  bool // whether tools.modules is there
}

// read makes a text a file. A text that is no app file is an error; an empty
// one is an app with nothing said.
func read(op string, text []byte, builtin []string) (*editor, error) {
	f := &editor{op: op, builtin: builtin, known: app.KnownModules{}}
	for _, name := range builtin {
		if name != mcp {
			f.known[name] = app.KnownModule{}
		}
	}
	var ok bool
	if f.doc, ok = outline(text); !ok {
		_, err := app.Parse(app.Filename, text, f.known)
		return nil, cmp.Or(err, error(tool.Errorf(op, tool.Invalid, "the structure of the file cannot be made out").WithHint("change it by hand")))
	}
	f.modules()
	if f.doc.root == nil {
		text = []byte("app:\n")
	}
	var err error
	if f.before, err = f.parse(text); err == nil {
		return f, nil
	}
	f.literal = true // variables may be set elsewhere
	var second error
	if f.before, second = f.parse(text); second == nil {
		return f, nil
	}
	return nil, err
}

// modules makes the modules that the file names known, with the settings that
// it gives them: whether those are right is not for an edit to say. A module of
// a server is known by its server only.
func (f *editor) modules() {
	node := f.doc.root
	for _, key := range path[:modulesDepth+1] {
		if node = under(node, key); node == nil {
			return
		}
	}
	f.listed = true
	for _, pair := range values(node) {
		name, ok := pair.Key.(*ast.StringNode)
		if !ok || name.Value == mcp || strings.HasPrefix(name.Value, mcp+"_") {
			continue
		}
		f.known[name.Value] = app.KnownModule{
			Config: settings(under(pair.Value, "config")), Constraints: settings(under(pair.Value, "constraints")), Credential: true,
		}
	}
}

// settings takes whatever keys a block has for ones that the module takes.
func settings(block ast.Node) []app.Setting {
	var all []app.Setting
	for _, setting := range values(block) {
		if key, ok := setting.Key.(*ast.StringNode); ok && key.Value != "allowed_actions" && key.Value != "blocked_actions" {
			all = append(all, app.Setting{Key: key.Value})
		}
	}
	return all
}

// under is the value of a key, or nil.
func under(n ast.Node, key string) ast.Node {
	for _, pair := range values(n) {
		if k, ok := pair.Key.(*ast.StringNode); ok && k.Value == key {
			return pair.Value
		}
	}
	return nil
}

// names lists the servers in the file, also those that are not enabled.
func (f *editor) names() []string {
	node := f.doc.root
	for _, key := range path {
		node = under(node, key)
	}
	var names []string
	for _, pair := range values(node) {
		if key, ok := pair.Key.(*ast.StringNode); ok {
			names = append(names, key.Value)
		}
	}
	return names
}

// server is one that is part of an app, or nil.
func server(a *app.App, name string) *app.Server {
	i := slices.IndexFunc(a.Servers, func(s app.Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Servers[i]
}

func (f *editor) parse(text []byte) (*app.App, error) {
	if f.literal {
		text = bytes.ReplaceAll(text, []byte("{{"), []byte("{{{{"))
	}
	return app.Parse(app.Filename, text, f.known)
}

// alone reports why no app file could hold a server.
func alone(op, name string, want []field) error {
	around := any([]field{{name, literal(want)}})
	for _, key := range slices.Backward(path[:]) {
		around = []field{{key, around}}
	}
	text := strings.Join(block(around.([]field), 0, defaultWidth), "\n") + "\n"
	a, err := app.Parse("the server", []byte(text), nil)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Message: "an app file cannot hold this server", Err: err}
	}
	if len(a.Servers) != 1 || a.Servers[0].Name != name || !reflect.DeepEqual(fields(a.Servers[0]), want) {
		return tool.Errorf(op, tool.Invalid, "a text of the server %s cannot be written in an app file", name).
			WithHint("its texts must be UTF-8")
	}
	return nil
}

// make makes an edit and proves it. Braces in what is asked for are variables
// to the reader; so the same edit is made with them doubled, which must read
// back as what was asked to the letter.
func (f *editor) make(name string, want []field, change func([]field) ([]splice, error)) ([]byte, error) {
	splices, err := change(want)
	if err != nil {
		return nil, err
	}
	text := f.doc.apply(splices)
	if f.literal {
		if err := f.verify(text, name, want); err != nil {
			return nil, err
		}
		return text, nil
	}
	splices, err = change(literal(want).([]field))
	if err != nil {
		return nil, err
	}
	twin := f.doc.apply(splices)
	if err := f.verify(twin, name, want); err != nil {
		return nil, err
	}
	if bytes.Equal(text, twin) {
		return text, nil
	}
	after, err := f.parse(text)
	if err != nil {
		return nil, &tool.Error{Op: f.op, Kind: tool.Invalid, Message: "the file could not be read with this server in it", Err: err}
	}
	if !f.rest(after, name) || server(after, name) == nil {
		return nil, f.defect(name, nil)
	}
	return text, nil
}

// verify reports whether a text is the app that was there before, with the
// server that was asked for or without it.
func (f *editor) verify(text []byte, name string, want []field) error {
	after, err := f.parse(text)
	if err != nil {
		return f.defect(name, err)
	}
	var got []field
	if s := server(after, name); s != nil {
		got = fields(*s)
	}
	if !f.rest(after, name) || !reflect.DeepEqual(got, want) {
		return f.defect(name, nil)
	}
	return nil
}

// rest reports whether all but one server is as it was. Warnings name lines,
// which move.
func (f *editor) rest(after *app.App, name string) bool {
	was, is := *f.before, *after
	for _, a := range []*app.App{&was, &is} {
		a.Warnings = nil
		a.Servers = slices.DeleteFunc(slices.Clone(a.Servers), func(s app.Server) bool { return s.Name == name })
		if len(a.Servers) == 0 {
			a.Servers = nil
		}
		if !f.listed {
			a.Modules = slices.SortedFunc(slices.Values(a.Modules), func(a, b app.Module) int { return cmp.Compare(a.Name, b.Name) })
		}
	}
	return reflect.DeepEqual(was, is)
}

func (f *editor) defect(name string, err error) error {
	return &tool.Error{
		Op: f.op, Kind: tool.Internal, Err: err,
		Message: "the edited file would not say what was asked for, so it is left as it was",
		Hint:    "change " + where + "." + name + " by hand",
	}
}
