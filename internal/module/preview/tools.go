package preview

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/workfile"
	"callgate/internal/nofollow"
	"callgate/tool"
)

var (
	//go:embed publish.md
	publishDoc string
	//go:embed proxy.md
	proxyDoc string
	//go:embed list.md
	listDoc string
	//go:embed detach.md
	detachDoc string
)

const minutesInput = `"minutes": {"type": "integer", "minimum": 1, "maximum": 1440,
      "description": "How long the link works; as the app says unless given, which is an hour."}`

const madeOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "link": {"type": "string", "description": "For the human. It works once it is opened, in that browser."},
    "shows": {"type": "string"},
    "until": {"type": "string", "description": "When it ends."}
  },
  "required": ["id", "link", "shows", "until"]
}`

func publishTool(s *shelf) module.Definition {
	return module.Definition{
		Name: "publish", Doc: publishDoc, Output: madeOutput,
		Runtime: tool.Runtime{Risk: tool.Medium, SideEffect: tool.External, Effects: []tool.Effect{
			{Resource: "file:{path}", Mode: tool.IS}, {Resource: "file:.", Mode: tool.IS, Unless: []string{"path"}},
		}},
		Input: `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "default": ".", "description": "The folder, relative to the workspace."},
    ` + minutesInput + `
  },
  "additionalProperties": false
}`,
		Examples: []tool.Example{module.Example("a page that was built", `{"path": "dist"}`)},
		Aliases: []string{
			"web_preview.publish", "preview_folder", "serve_folder", "static_server", "show a page in the browser", "serve files for me to look at",
			"preview the website", "montrer la page", "servir un dossier", "Vorschau im Browser", "vista previa", "预览网页", "プレビュー",
		},
		Tags:    []string{"preview", "browser", "web", "serve", "html", "aperçu", "Vorschau"},
		Handler: handler("publish", s.publish),
	}
}

func proxyTool(s *shelf) module.Definition {
	return module.Definition{
		Name: "proxy", Doc: proxyDoc, Output: madeOutput,
		Runtime: tool.Runtime{Risk: tool.Medium, SideEffect: tool.External},
		Input: `{
  "type": "object",
  "properties": {
    "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "The port on which the server listens, on this machine."},
    ` + minutesInput + `
  },
  "required": ["port"],
  "additionalProperties": false
}`,
		Examples: []tool.Example{module.Example("a development server", `{"port": 5173}`)},
		Aliases: []string{
			"web_preview.proxy", "preview_port", "expose_port", "show a dev server", "open the local server in the browser",
			"forward a port", "montrer le serveur local", "lokalen Server zeigen", "mostrar el servidor local", "预览本地服务",
		},
		Tags:    []string{"preview", "browser", "port", "server", "proxy"},
		Handler: handler("proxy", s.proxy),
	}
}

func listTool(s *shelf) module.Definition {
	return module.Definition{
		Name: "list", Doc: listDoc, Input: `{"type": "object", "additionalProperties": false}`,
		Output: `{"type": "object", "properties": {"previews": {"type": "array", "items": ` + madeOutput +
			`}}, "required": ["previews"]}`,
		Aliases: []string{"list_previews", "what is shown in the browser", "aperçus ouverts", "offene Vorschauen"},
		Tags:    []string{"preview", "list"},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true},
		Handler: handler("list", func(_ context.Context, c caller, _ struct{}) (*tool.Result, error) {
			all := s.of(c.by)
			data := listData{Previews: []made{}}
			for _, p := range all {
				data.Previews = append(data.Previews, p.made())
			}
			return tool.OK(amount.As(len(all), "preview is open", "previews are open"), data)
		}),
	}
}

func detachTool(s *shelf) module.Definition {
	return module.Definition{
		Name: "detach", Doc: detachDoc, Output: `{"type": "object", "properties": {"ended": {"type": "string"}}}`,
		Input: `{
  "type": "object",
  "properties": {"id": {"type": "string", "minLength": 1, "description": "Of the preview."}},
  "required": ["id"],
  "additionalProperties": false
}`,
		Aliases: []string{"web_preview.detach", "stop_preview", "end a preview", "arrêter l'aperçu", "Vorschau beenden"},
		Tags:    []string{"preview", "stop", "end"},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.Write},
		Handler: handler("detach", func(_ context.Context, c caller, in struct{ ID string }) (*tool.Result, error) {
			for _, p := range s.of(c.by) {
				if p.id == in.ID {
					s.end(p)
					return tool.OK("the preview of "+p.words+" has ended", map[string]string{"ended": p.id})
				}
			}
			return nil, tool.Errorf(c.op, tool.NotFound, "there is no preview %q", tool.Truncate(in.ID)).
				WithHint("it may have ended at its time; preview.list has those that are open")
		}),
	}
}

// caller is a call, as the tools need it.
type caller struct {
	op       string
	by       tool.Principal
	grant    tool.Grant
	settings *settings
}

// handler reads a call.
func handler[In any](name string, run func(context.Context, caller, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		return run(ctx, caller{op, call.Principal, g, module.SettingsOf(g, defaultSettings)}, in)
	})
}

type made struct {
	ID    string `json:"id"`
	Link  string `json:"link"`
	Shows string `json:"shows"`
	Until string `json:"until"`
}

type listData struct {
	Previews []made `json:"previews"`
}

func (s *shelf) publish(ctx context.Context, c caller, in struct {
	Path    string
	Minutes int
}) (*tool.Result, error) {
	workspace, err := workfile.New(c.op, c.grant)
	if err != nil {
		return nil, err
	}
	folder, err := workspace.Directory(cmp.Or(in.Path, "."))
	if err != nil {
		return nil, err
	}
	root, err := nofollow.OpenDir(workspace.Root, folder.Name)
	if err != nil {
		return nil, workspace.Fail(folder.Shown, err)
	}
	if c.grant.Root, err = workspace.Root.OpenRoot("."); err != nil { // the call's own is closed with the session
		_ = root.Close()
		return nil, workspace.Fail(folder.Shown, err)
	}
	return s.open(ctx, c, in.Minutes, shown{
		words: "the folder " + folder.Shown, handler: &files{root, filepath.ToSlash(folder.Name), c.grant},
		release: func() { _, _ = root.Close(), c.grant.Root.Close() },
	})
}

func (s *shelf) proxy(ctx context.Context, c caller, in struct{ Port, Minutes int }) (*tool.Result, error) {
	if !c.settings.allows(in.Port) {
		return nil, tool.Errorf(c.op, tool.Denied, "the app shows no server on port %d", in.Port).
			WithHint("it allows %v", c.settings.AllowedPorts)
	}
	forward := newForward(in.Port)
	return s.open(ctx, c, in.Minutes, shown{
		words: fmt.Sprintf("the server on port %d", in.Port), handler: forward,
		release: forward.Transport.(*http.Transport).CloseIdleConnections,
	})
}

func (p *preview) made() made {
	return made{ID: p.id, Link: p.link, Shows: p.words, Until: p.until.UTC().Format(time.RFC3339)}
}

func (p *preview) result() (*tool.Result, error) {
	return tool.OK(fmt.Sprintf("%s is at %s until %s: give the human this link", p.words, p.link,
		p.until.Format("15:04")), p.made())
}
