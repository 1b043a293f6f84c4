package lsp

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed notify_change.md
var notifyChangeDoc string

const notifyChangeInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "A file that exists, relative to the workspace or absolute inside it."},
    "content": {"type": "string", "maxLength": 4194304, "description": "The whole content that the file is to be taken to have."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

func notifyChangeTool(p *pool) module.Definition {
	return module.Definition{
		Name: "notify_change", Doc: notifyChangeDoc, Input: notifyChangeInput, Output: diagnosticsOutput,
		Examples: []tool.Example{
			module.Example("try a content before it is written", `{"path": "a.go", "content": "package a\n\nfunc F() {}\n"}`),
			module.Example("look at the disk again", `{"path": "a.go"}`),
		},
		Aliases: []string{
			"try a change before writing it", "tell the language server", "didChange", "essayer une modification",
			"Änderung ausprobieren", "probar un cambio", "testar uma alteração", "试改文件", "変更を試す", "попробовать изменение",
		},
		Tags:    []string{"code", "language server", "preview", "errors"},
		Runtime: reading(callTime),
		Handler: handler("notify_change", func(ctx context.Context, c *request, in notifyChangeArgs) (*tool.Result, error) {
			f, server, release, err := p.open(ctx, c, in.Path)
			if err != nil {
				return nil, err
			}
			defer release()
			f.text = f.disk
			if in.Content != nil {
				f.text = *in.Content
			}
			limited, cancel := context.WithTimeout(ctx, seconds(c.settings.Request))
			defer cancel()
			if err := server.Tell(limited, f.name, f.disk, f.text); err != nil {
				return nil, server.Fail(c.Op, limited, err)
			}
			return c.diagnose(ctx, server, f, "")
		}),
	}
}

type notifyChangeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}
