package lsp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/lsp/langserver"
	"callgate/tool"
)

//go:embed diagnostics.md
var diagnosticsDoc string

const diagnosticsInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."},
    "severity": {"type": "string", "enum": ["error", "warning", "information", "hint"], "default": "hint",
      "description": "The least that is shown."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const problemSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"}, "line": {"type": "integer"}, "column": {"type": "integer"},
    "severity": {"type": "string"}, "message": {"type": "string"}, "source": {"type": "string"}, "code": {"type": "string"}
  },
  "required": ["path", "line", "column", "severity", "message"]
}`

const diagnosticsOutput = `{
  "type": "object",
  "properties": {
    "server": {"type": "string"},
    "path": {"type": "string"},
    "settled": {"type": "boolean", "description": "False: the server was not done; ask again."},
    "diagnostics": {"type": "array", "items": ` + problemSchema + `}
  },
  "required": ["path", "settled", "diagnostics"]
}`

// reading is the runtime view of a tool that asks a server about a file.
func reading(timeout time.Duration) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: timeout, LockFor: lockTime,
	}
}

// callTime is the longest that a call can take: a start, a look around, a request and a wait.
const callTime = 20 * time.Minute

// lockTime is how long a call keeps others from writing what it asks about: a server may take
// minutes, and reads the files in the first moment.
const lockTime = 5 * time.Second

func diagnosticsTool(p *pool) module.Definition {
	return module.Definition{
		Name: "diagnostics", Doc: diagnosticsDoc, Input: diagnosticsInput, Output: diagnosticsOutput,
		Examples: []tool.Example{
			module.Example("what is wrong in a file", `{"path": "internal/store.go"}`),
			module.Example("its errors alone", `{"path": "src/app.ts", "severity": "error"}`),
		},
		Aliases: []string{
			"lsp_diagnose", "compiler errors", "type errors of a file", "lint a file", "what is wrong in this code",
			"erreurs de compilation", "Fehler im Code", "errores de compilación", "erros de compilação", "代码错误", "コードのエラー",
			"ошибки компиляции",
		},
		Tags:    []string{"code", "errors", "warnings", "types", "language server", "lint", "code quality"},
		Runtime: reading(callTime),
		Handler: handler("diagnostics", func(ctx context.Context, c *request, in diagnosticsArgs) (*tool.Result, error) {
			f, server, release, err := p.open(ctx, c, in.Path)
			if err != nil {
				return nil, err
			}
			defer release()
			return c.diagnose(ctx, server, f, in.Severity)
		}),
	}
}

type diagnosticsArgs struct {
	Path     string `json:"path"`
	Severity string `json:"severity"`
}

// problem is a diagnostic as the model is told it.
type problem struct {
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"`
	Code     string `json:"code,omitempty"`

	level int
}

// String is the problem in one line.
func (p problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s: %s", p.Path, p.Line, p.Column, p.Severity, p.Message)
	if by := strings.TrimSpace(p.Source + " " + p.Code); by != "" {
		text += " (" + by + ")"
	}
	return text
}

// severities are their names, from the worst on.
var severities = []string{"error", "warning", "information", "hint"}

// diagnose asks a server what is wrong in a file that it was told.
func (c *request) diagnose(ctx context.Context, s *langserver.Server, f *file, least string) (*tool.Result, error) {
	found, settled, err := s.Diagnostics(ctx, f.name, seconds(c.settings.Wait))
	if err != nil {
		return nil, s.Fail(c.Op, ctx, err)
	}
	problems := problemsOf(f, found, least)
	text := "nothing is wrong in " + f.shown
	if len(problems) > 0 {
		text = counted(problems) + " in " + f.shown
	}
	if s.Told(f.name) {
		text += ", as lsp.notify_change told it (the file on the disk is another)"
	}
	if !settled {
		text += "; " + s.Name() + " was not done with it: ask again"
		if len(problems) == 0 {
			text = s.Name() + " was not done with " + f.shown + ": ask again"
		}
	}
	var b strings.Builder
	b.WriteString(text)
	for _, p := range problems {
		b.WriteString("\n" + p.String())
	}
	return module.InWords(b.String(), map[string]any{
		"server": s.Name(), "path": f.shown, "settled": settled, "diagnostics": problems,
	})
}

// problemsOf are diagnostics in words, the worst first.
func problemsOf(f *file, found []langserver.Diagnostic, least string) []problem {
	most := slices.Index(severities, least) + 1
	if most == 0 {
		most = len(severities)
	}
	lines := strings.Split(f.text, "\n")
	problems := []problem{}
	for _, d := range found {
		level := d.Severity
		if level < 1 || level > len(severities) {
			level = 1
		}
		if level > most {
			continue
		}
		start := d.Range.Start
		column := start.Character + 1
		if start.Line >= 0 && start.Line < len(lines) && start.Character >= 0 {
			line := lines[start.Line]
			column = len([]rune(line[:offset(line, start.Character)])) + 1
		}
		problems = append(problems, problem{
			Path: f.shown, Line: start.Line + 1, Column: column, Severity: severities[level-1],
			Message: langserver.Clean(d.Message, 1000), Source: langserver.Clean(d.Source, 50),
			Code: codeOf(d.Code), level: level,
		})
	}
	slices.SortStableFunc(problems, func(a, b problem) int {
		return (a.level-b.level)*1_000_000_000 + min(a.Line, 1_000_000) - min(b.Line, 1_000_000)
	})
	return problems
}

// codeOf is the code of a diagnostic, a text or a number.
func codeOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return langserver.Clean(text, 50)
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return langserver.Clean(n.String(), 50)
	}
	return ""
}

// counted says how many problems there are of each severity.
func counted(problems []problem) string {
	counts := map[string]int{}
	for _, p := range problems {
		counts[p.Severity]++
	}
	var parts []string
	for _, name := range severities {
		switch n := counts[name]; {
		case n == 1:
			parts = append(parts, "1 "+name)
		case n > 1 && name == "information":
			parts = append(parts, itoa(n)+" pieces of information")
		case n > 1:
			parts = append(parts, itoa(n)+" "+name+"s")
		}
	}
	return strings.Join(parts, ", ")
}

func itoa(n int) string { return strconv.Itoa(n) }
