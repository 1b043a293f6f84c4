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

// editor edits one text.
type editor struct {
	op      string
	doc     *document
	before  *app.App
	builtin []string // the modules that are on where none is listed
	known   app.KnownModules
	literal bool // the text is read with its variables as they are written
	listed  bool // whether tools.modules is there
}

// read reads the text to edit. A text that is no app file is an error; an empty
// text is an app without keys.
func read(op string, text []byte, builtin []string) (*editor, error) {
	e := &editor{op: op, builtin: builtin, known: app.KnownModules{}}
	for _, name := range builtin {
		if name != mcp {
			e.known[name] = app.KnownModule{}
		}
	}
	var ok bool
	if e.doc, ok = outline(text); !ok {
		_, err := app.ParsePart(app.Filename, text, e.known)
		if err == nil {
			err = tool.Errorf(op, tool.Invalid, "the structure of the file cannot be made out").
				WithHint("change it by hand")
		}
		return nil, err
	}
	e.modules()
	if e.doc.root == nil {
		text = []byte("app:\n")
	}
	var err error
	if e.before, err = e.parse(text); err == nil {
		return e, nil
	}
	e.literal = true // variables may be set elsewhere
	var second error
	if e.before, second = e.parse(text); second == nil {
		return e, nil
	}
	return nil, err
}

// modules makes the modules that the file names known, with the settings that
// it gives them: an edit does not check those. A module of a server is known by
// its server only.
func (e *editor) modules() {
	node := e.doc.root
	for _, key := range path[:modulesDepth+1] {
		if node = under(node, key); node == nil {
			return
		}
	}
	e.listed = true
	for _, pair := range values(node) {
		name, ok := pair.Key.(*ast.StringNode)
		if !ok || name.Value == mcp || strings.HasPrefix(name.Value, mcp+"_") {
			continue
		}
		e.known[name.Value] = app.KnownModule{
			Config:      settings(under(pair.Value, "config")),
			Constraints: settings(under(pair.Value, "constraints")),
			Credential:  true,
		}
	}
}

// settings declares every key of a block as a setting.
func settings(block ast.Node) []app.Setting {
	var all []app.Setting
	for _, setting := range values(block) {
		key, ok := setting.Key.(*ast.StringNode)
		if ok && key.Value != "allowed_actions" && key.Value != "blocked_actions" {
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
func (e *editor) names() []string {
	node := e.doc.root
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

func (e *editor) parse(text []byte) (*app.App, error) {
	if e.literal {
		text = bytes.ReplaceAll(text, []byte("{{"), []byte("{{{{"))
	}
	return app.ParsePart(app.Filename, text, e.known)
}

// alone reports why an app file cannot hold a server.
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

// make makes an edit and verifies it. Braces in the wanted texts are variables
// to the reader, so the same edit is made with doubled braces, which must read
// back as the wanted texts to the letter.
func (e *editor) make(name string, want []field, change func([]field) ([]splice, error)) ([]byte, error) {
	splices, err := change(want)
	if err != nil {
		return nil, err
	}
	text := e.doc.apply(splices)
	if e.literal {
		if err := e.verify(text, name, want); err != nil {
			return nil, err
		}
		return text, nil
	}
	splices, err = change(literal(want).([]field))
	if err != nil {
		return nil, err
	}
	twin := e.doc.apply(splices)
	if err := e.verify(twin, name, want); err != nil {
		return nil, err
	}
	if bytes.Equal(text, twin) {
		return text, nil
	}
	after, err := e.parse(text)
	if err != nil {
		return nil, &tool.Error{
			Op: e.op, Kind: tool.Invalid, Message: "the file could not be read with this server in it", Err: err,
		}
	}
	if !e.rest(after, name) || server(after, name) == nil {
		return nil, e.defect(name, nil)
	}
	return text, nil
}

// verify reports whether a text is the app that was there before, with the
// server that was asked for or without it.
func (e *editor) verify(text []byte, name string, want []field) error {
	after, err := e.parse(text)
	if err != nil {
		return e.defect(name, err)
	}
	var got []field
	if s := server(after, name); s != nil {
		got = fields(*s)
	}
	if !e.rest(after, name) || !reflect.DeepEqual(got, want) {
		return e.defect(name, nil)
	}
	return nil
}

// rest reports whether everything but one server is unchanged. Warnings name
// lines, which move.
func (e *editor) rest(after *app.App, name string) bool {
	was, is := *e.before, *after
	for _, a := range []*app.App{&was, &is} {
		a.Warnings = nil
		a.Servers = slices.DeleteFunc(slices.Clone(a.Servers), func(s app.Server) bool { return s.Name == name })
		if len(a.Servers) == 0 {
			a.Servers = nil
		}
		if !e.listed {
			a.Modules = slices.SortedFunc(slices.Values(a.Modules), byName)
		}
	}
	return reflect.DeepEqual(was, is)
}

func byName(a, b app.Module) int { return cmp.Compare(a.Name, b.Name) }

// defect is the error of an edit that would not do what was asked for.
func (e *editor) defect(name string, err error) error {
	return &tool.Error{
		Op: e.op, Kind: tool.Internal, Err: err,
		Message: "the edited file would not say what was asked for, so it is left as it was",
		Hint:    "change " + where + "." + name + " by hand",
	}
}
