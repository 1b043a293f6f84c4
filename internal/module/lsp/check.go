package lsp

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed check.md
var checkDoc string

const checkInput = `{
  "type": "object",
  "properties": {
    "paths": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 100, "default": ["."],
      "description": "Files and folders, relative to the workspace or absolute inside it."},
    "severity": {"type": "string", "enum": ["error", "warning", "information", "hint"], "default": "error",
      "description": "The least that is shown."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200, "description": "The most files that are looked at."}
  },
  "additionalProperties": false
}`

const checkOutput = `{
  "type": "object",
  "properties": {
    "files": {"type": "integer", "description": "How many were looked at."},
    "left_out": {"type": "integer", "description": "How many were not, for the limit."},
    "unsettled": {"type": "array", "items": {"type": "string"}, "description": "Files that a server was not done with."},
    "diagnostics": {"type": "array", "items": ` + problemSchema + `}
  },
  "required": ["files", "left_out", "diagnostics"]
}`

func checkTool(p *pool) module.Definition {
	runtime := reading(callTime)
	runtime.Effects = []tool.Effect{
		{Resource: "file:{paths}", Mode: tool.S}, {Resource: "workspace", Mode: tool.S, Unless: []string{"paths"}},
	}
	return module.Definition{
		Name: "check", Doc: checkDoc, Input: checkInput, Output: checkOutput,
		Examples: []tool.Example{
			module.Example("the errors of the whole project", `{}`),
			module.Example("of a folder, with warnings", `{"paths": ["internal/store"], "severity": "warning"}`),
		},
		Aliases: []string{
			"check the project for errors", "does it compile", "type-check", "vérifier le projet", "Projekt prüfen",
			"comprobar el proyecto", "verificar o projeto", "检查项目", "プロジェクトを検査", "проверить проект",
		},
		Tags:    []string{"code", "errors", "compile", "types", "language server", "project"},
		Runtime: runtime,
		Handler: handler("check", func(ctx context.Context, c *request, in checkArgs) (*tool.Result, error) {
			return p.check(ctx, c, in)
		}),
	}
}

type checkArgs struct {
	Paths    []string `json:"paths"`
	Severity string   `json:"severity"`
	Limit    int      `json:"limit"`
}

func (p *pool) check(ctx context.Context, c *request, in checkArgs) (*tool.Result, error) {
	if len(in.Paths) == 0 {
		in.Paths = []string{"."}
	}
	if in.Severity == "" {
		in.Severity = severities[0]
	}
	if in.Limit == 0 {
		in.Limit = 200
	}
	files, err := c.files(ctx, in.Paths)
	if err != nil {
		return nil, err
	}
	leftOut := max(len(files)-in.Limit, 0)
	files = files[:len(files)-leftOut]
	problems, unsettled := []problem{}, []string{}
	for _, name := range files {
		f, server, release, err := p.open(ctx, c, name)
		if err != nil {
			return nil, err
		}
		found, settled, err := server.Diagnostics(ctx, f.name, seconds(c.settings.Wait))
		if err != nil {
			err = server.Fail(c.Op, ctx, err)
		}
		release()
		if err != nil {
			return nil, err
		}
		if !settled {
			unsettled = append(unsettled, f.shown)
		}
		problems = append(problems, problemsOf(f, found, in.Severity)...)
	}
	return module.InWords(checkText(files, problems, unsettled, leftOut, in.Severity), map[string]any{
		"files": len(files), "left_out": leftOut, "unsettled": unsettled, "diagnostics": problems,
	})
}

func checkText(files []string, problems []problem, unsettled []string, leftOut int, severity string) string {
	var b strings.Builder
	if len(problems) == 0 {
		fmt.Fprintf(&b, "no %s in %d files", severity, len(files))
	} else {
		in := map[string]bool{}
		for _, p := range problems {
			in[p.Path] = true
		}
		fmt.Fprintf(&b, "%s in %d of %d files", counted(problems), len(in), len(files))
	}
	if leftOut > 0 {
		fmt.Fprintf(&b, "; %d more files were not looked at: name a folder, or set limit", leftOut)
	}
	if len(unsettled) > 0 {
		fmt.Fprintf(&b, "; the servers were not done with %s", strings.Join(unsettled[:min(len(unsettled), 5)], ", "))
	}
	for _, p := range problems {
		b.WriteString("\n" + p.String())
	}
	return b.String()
}

// files are those of the paths that an installed server reads.
func (c *request) files(ctx context.Context, paths []string) ([]string, error) {
	installed := map[string]bool{}
	reads := func(name string) bool {
		for _, one := range c.settings.known {
			if !one.covers(name) || slices.Contains(watched, path.Base(name)) {
				continue
			}
			found, tried := installed[one.name]
			if !tried {
				_, err := one.program(c.Dir)
				found = err == nil
				installed[one.name] = found
			}
			if found {
				return true
			}
		}
		return false
	}
	all := map[string]bool{}
	walked := c.walk(ctx)
	for _, name := range paths {
		p, err := c.Existing(name, true)
		if err != nil {
			return nil, err
		}
		if !p.Info.IsDir() {
			if _, _, err := c.settings.choose(c.Op, p.Shown, c.Dir); err != nil {
				return nil, err
			}
			all[p.Shown] = true
			continue
		}
		for found := range walked {
			if (p.Shown == "." || strings.HasPrefix(found, p.Shown+"/")) && reads(found) {
				all[found] = true
			}
		}
	}
	if len(all) == 0 {
		return nil, tool.Errorf(c.Op, tool.Unavailable, "there is no file here that an installed language server reads").
			WithHint("the servers that are known read %s", strings.Join(c.settings.endings(), " "))
	}
	return slices.Sorted(maps.Keys(all)), nil
}
