package lsp

import (
	"context"
	_ "embed"
	"slices"

	"callgate/internal/module"
	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

//go:embed request.md
var requestDoc string

const requestInput = `{
  "type": "object",
  "properties": {
    "kind": {"type": "string", "enum": ["definition", "type_definition", "implementation", "references", "hover", "symbols",
      "workspace_symbols", "incoming_calls", "outgoing_calls", "rename", "code_actions", "format"]},
    "path": {"type": "string", "minLength": 1,
      "description": "The file, relative to the workspace or absolute inside it; for workspace_symbols any file of the language."},
    "symbol": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The name that is asked about."},
    "line": {"type": "integer", "minimum": 1},
    "end_line": {"type": "integer", "minimum": 1, "description": "The last line, for code_actions."},
    "column": {"type": "integer", "minimum": 1},
    "new_name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "For rename."},
    "query": {"type": "string", "maxLength": 200, "description": "For workspace_symbols."},
    "action": {"type": "string", "maxLength": 300, "description": "For code_actions: the title of the one whose patch is wanted."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    "id": {"type": "string", "minLength": 1, "maxLength": 100, "description": "A name for this request, to cancel it by."}
  },
  "required": ["kind", "path"],
  "additionalProperties": false
}`

const requestOutput = `{
  "type": "object",
  "properties": {
    "server": {"type": "string"},
    "kind": {"type": "string"},
    "text": {"type": "string", "description": "For hover."},
    "places": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "path": {"type": "string"}, "line": {"type": "integer"}, "column": {"type": "integer"}, "name": {"type": "string"},
        "symbol_kind": {"type": "string"}, "source": {"type": "string", "description": "The line, where it is in the workspace."}
      },
      "required": ["path", "line", "column"]
    }},
    "actions": {"type": "array", "items": {"type": "object", "properties": {
      "title": {"type": "string"}, "kind": {"type": "string"}, "preferred": {"type": "boolean"}}, "required": ["title"]}},
    "patch": {"type": "string", "description": "For filesystem.apply_patch."},
    "files": {"type": "array", "items": {"type": "string"}, "description": "That the patch changes."},
    "also": {"type": "array", "items": {"type": "string"}, "description": "What the change needs beside the patch."},
    "left_out": {"type": "integer", "description": "How many places were more than limit."}
  },
  "required": ["server", "kind"]
}`

func requestTool(p *pool) module.Definition {
	return module.Definition{
		Name: "request", Doc: requestDoc, Input: requestInput, Output: requestOutput,
		Examples: []tool.Example{
			module.Example("where it is defined", `{"kind": "definition", "path": "cmd/main.go", "symbol": "store.Open"}`),
			module.Example("everything that uses it",
				`{"kind": "references", "path": "store.go", "line": 12, "symbol": "Open"}`),
			module.Example("the patch of a rename",
				`{"kind": "rename", "path": "store.go", "symbol": "Open", "new_name": "OpenStore"}`),
			module.Example("what is declared in a file", `{"kind": "symbols", "path": "src/app.ts"}`),
		},
		Aliases: []string{
			"go to definition", "find references", "find usages", "rename a symbol", "who calls this function", "call hierarchy",
			"code actions", "quick fix", "organize imports", "format code", "hover", "list symbols of a file",
			"aller à la définition", "trouver les usages", "renommer un symbole", "zur Definition springen", "Verwendungen finden",
			"Symbol umbenennen", "ir a la definición", "buscar referencias", "renombrar símbolo", "ir para a definição",
			"跳转到定义", "查找引用", "重命名符号", "定義へ移動", "参照を検索", "найти использования", "перейти к определению",
		},
		Tags:    []string{"code", "definition", "references", "rename", "refactor", "symbols", "language server", "navigation"},
		Runtime: reading(callTime),
		Handler: handler("request", func(ctx context.Context, c *request, in requestArgs) (*tool.Result, error) {
			ctx, done, err := p.cancellable(ctx, c, in.ID)
			if err != nil {
				return nil, err
			}
			defer done()
			return p.request(ctx, c, in)
		}),
	}
}

type requestArgs struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
	place
	EndLine int    `json:"end_line"`
	NewName string `json:"new_name"`
	Query   string `json:"query"`
	Action  string `json:"action"`
	Limit   int    `json:"limit"`
	ID      string `json:"id"`
}

// question is a request to a server about a file.
type question struct {
	*request
	requestArgs
	file   *file
	server *langserver.Server
	ctx    context.Context // of this call alone
	at     langserver.Position
}

// placed are the kinds that need a place.
var placed = []string{
	"definition", "type_definition", "implementation", "references", "hover", "incoming_calls", "outgoing_calls", "rename",
}

func (p *pool) request(ctx context.Context, c *request, in requestArgs) (*tool.Result, error) {
	if in.Limit == 0 {
		in.Limit = 100
	}
	if in.Kind == "rename" && in.NewName == "" {
		return nil, tool.Errorf(c.Op, tool.Invalid, "a rename needs a name").WithHint("give new_name")
	}
	f, server, release, err := p.open(ctx, c, in.Path)
	if err != nil {
		return nil, err
	}
	defer release()
	q := &question{request: c, requestArgs: in, file: f, server: server}
	if slices.Contains(placed, in.Kind) {
		if q.at, err = in.find(c.Op, f.shown, f.text); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, seconds(c.settings.Request))
	defer cancel()
	q.ctx = limited
	r, err := q.ask()
	if err != nil {
		return nil, server.Fail(c.Op, limited, err)
	}
	return r, nil
}

// methods are the requests that answer with places.
var methods = map[string]string{
	"definition": "textDocument/definition", "type_definition": "textDocument/typeDefinition",
	"implementation": "textDocument/implementation", "references": "textDocument/references",
}

func (q *question) ask() (*tool.Result, error) {
	switch q.Kind {
	case "hover":
		return q.hover()
	case "symbols":
		return q.symbols()
	case "workspace_symbols":
		return q.workspaceSymbols()
	case "incoming_calls", "outgoing_calls":
		return q.calls()
	case "rename":
		var edit workspaceEdit
		if err := q.call("textDocument/rename", q.here(map[string]any{"newName": q.NewName}), &edit); err != nil {
			return nil, err
		}
		return q.patch("the rename to "+q.NewName, edit)
	case "format":
		var edits []textEdit
		options := map[string]any{"tabSize": 4, "insertSpaces": true}
		if err := q.call("textDocument/formatting", q.document(map[string]any{"options": options}), &edits); err != nil {
			return nil, err
		}
		return q.patch("the formatting", workspaceEdit{Changes: map[string][]textEdit{langserver.URI(q.file.name): edits}})
	case "code_actions":
		return q.actions()
	default:
		return q.locations(methods[q.Kind])
	}
}

func (q *question) call(method string, params, result any) error {
	return q.server.Call(q.ctx, method, params, result)
}

// document adds the file to the parameters of a request.
func (q *question) document(params map[string]any) map[string]any {
	params["textDocument"] = map[string]any{"uri": langserver.URI(q.file.name)}
	return params
}

// here adds the place.
func (q *question) here(params map[string]any) map[string]any {
	params["position"] = q.at
	return q.document(params)
}

// answer is the result of a request.
func (q *question) answer(text string, data map[string]any) (*tool.Result, error) {
	data["server"], data["kind"] = q.server.Name(), q.Kind
	if q.server.Told(q.file.name) {
		text += "\n(" + q.file.shown + " is taken as lsp.notify_change told it; on the disk it is another)"
	}
	return module.InWords(text, data)
}
