package fileschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callgate/internal/app"
	"callgate/internal/app/fileschema"
	"callgate/internal/app/node"
	"callgate/internal/app/rules"
	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/internal/module/calendar"
	"callgate/internal/module/clock"
	"callgate/internal/module/contacts"
	"callgate/internal/module/database"
	"callgate/internal/module/email"
	"callgate/internal/module/filesystem"
	"callgate/internal/module/git"
	"callgate/internal/module/http"
	"callgate/internal/module/image"
	"callgate/internal/module/llmprovider"
	"callgate/internal/module/lsp"
	"callgate/internal/module/memory"
	"callgate/internal/module/notion"
	"callgate/internal/module/preview"
	"callgate/internal/module/queue"
	"callgate/internal/module/rag"
	"callgate/internal/module/rag/index"
	"callgate/internal/module/shell"
	"callgate/internal/module/speech"
	"callgate/internal/module/web"
	"callgate/internal/module/widget"
	"callgate/internal/module/workspace"
)

// known is what the kernel knows, and what the files of these tests name beside
// that.
func known(t testing.TB) app.KnownModules {
	t.Helper()
	all := app.KnownModules{
		"open": {
			Config: []app.Setting{{Key: "anything"}, {Key: "engine", Type: "string", OneOf: []string{"one", "two"}, Validate: oneOrTwo}},
		},
		"context_builder": {Actions: []string{"search_tools", "ask_user", "propose_tool", "run_script"}, AlwaysOn: true},
	}
	for _, m := range []module.Module{
		browser.Module(), database.Module(), filesystem.Module(), git.Module(), http.Module(), memory.Module(memory.Config{}), shell.Module(), web.Module(), clock.Module(),
		email.Module(), calendar.Module(), contacts.Module(), image.Module(), notion.Module(), speech.Speaking(), speech.Hearing(), preview.Module(), widget.Module(), llmprovider.Module(), workspace.Module(), queue.Module(), rag.Module(), index.Module(), lsp.Module(),
	} {
		all[m.Name] = knownModule(t, m)
	}
	return all
}

func oneOrTwo(value any) error {
	if value == "one" || value == "two" {
		return nil
	}
	return errors.New("it must be one of one, two")
}

func knownModule(t testing.TB, m module.Module) app.KnownModule {
	t.Helper()
	opened, err := m.Open(
		module.Host{State: t.TempDir(), Cache: t.TempDir(), Log: slog.New(slog.DiscardHandler), Scrub: func(s string) string { return s }},
	)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Close != nil {
		t.Cleanup(func() { _ = opened.Close() })
	}
	k := app.KnownModule{Credential: m.Credential}
	for _, tool := range opened.Tools {
		k.Actions = append(k.Actions, tool.ID.Name)
	}
	for _, f := range m.Fields() {
		s := app.Setting{Key: f.Key, Validate: f.Validate, Type: f.Type, Help: f.Help, Want: f.Expected, OneOf: f.OneOf}
		if least, most, bounded := f.Range(); bounded {
			s.Min, s.Max = least, most
		}
		if f.Key == rules.StatementsKey {
			k.Statements = f.OneOf
		}
		if f.Constraint {
			k.Constraints = append(k.Constraints, s)
		} else {
			k.Config = append(k.Config, s)
		}
	}
	return k
}

// compiled is the schema, ready to judge.
func compiled(t testing.TB, known app.KnownModules) *jsonschema.Schema {
	t.Helper()
	return part(t, known, "app.json")
}

// part is a part of the schema.
func part(t testing.TB, known app.KnownModules, address string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(fileschema.JSONSchema(known)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("app.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(address) // which holds it against its own draft
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document is YAML as an editor hands it to a schema.
func document(text []byte) (any, error) {
	r, root, ok := node.Open("f", text, node.Keys{}, nil)
	if !ok {
		return nil, node.Err(r.Report)
	}
	value := r.Value(root)
	if err := node.Err(r.Report); err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}

func validate(t testing.TB, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	doc, err := document(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Validate(doc)
}
