// Package widget is the module that shows a human a small page in the console, beside what the agent says: a table,
// a drawing, figures.
//
// # Law
//
// What is shown is HTML that somebody else wrote, and is taken for hostile. The module keeps nothing: the page is the
// arguments of a call that is on record, and whoever may read the record may look at it. The console shows it in a
// frame of its own, cleaned by package safehtml, without scripts, without an origin and without the network.
package widget

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/safehtml"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "widget"

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "Show a human a small page in the console: a table, a drawing, figures. It only shows.",
		Settings: func() any { return defaultSettings() }, NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: []*tool.Tool{renderTool().Tool(Namespace)}}, nil
		},
	}
}

type settings struct {
	Height   int `config:"height" range:"40,2000" help:"how high a widget is, in pixels, unless its call says otherwise"`
	MaxBytes int `constraint:"max_bytes" range:"256,262144" help:"the largest page that is shown, as HTML"`
}

func defaultSettings() *settings { return &settings{Height: 320, MaxBytes: 64 << 10} }

//go:embed render.md
var renderDoc string

func renderTool() module.Definition {
	return module.Definition{
		Name: "render", Doc: renderDoc,
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true},
		Input: `{
  "type": "object",
  "properties": {
    "html": {"type": "string", "minLength": 1, "maxLength": 262144, "description": "What is shown, with its styles; not a whole site."},
    "title": {"type": "string", "minLength": 1, "maxLength": 120, "description": "What it is, in a few words."},
    "height": {"type": "integer", "minimum": 40, "maximum": 2000, "description": "In pixels; as the app says unless given."}
  },
  "required": ["html"],
  "additionalProperties": false
}`,
		Output: `{
  "type": "object",
  "properties": {
    "widget": {"type": "string", "description": "The call under which it is shown."},
    "height": {"type": "integer"},
    "removed": {"type": "array", "items": {"type": "string"}, "description": "What was left out of it."}
  },
  "required": ["widget", "height", "removed"]
}`,
		Examples: []tool.Example{module.Example("figures of a week",
			`{"title": "Orders", "html": "<table><tr><th>Mon</th><td>12</td></tr><tr><th>Tue</th><td>30</td></tr></table>"}`)},
		Aliases: []string{
			"widget.show", "show_widget", "render_html", "show_html", "display a table or a chart to the user",
			"draw a chart for the human", "afficher un tableau", "montrer un graphique", "afficher du HTML", "Diagramm anzeigen",
			"Tabelle zeigen", "mostrar una tabla", "mostrar un gráfico", "mostra un grafico", "显示图表", "显示表格", "グラフを表示",
			"показать таблицу",
		},
		Tags:    []string{"widget", "ui", "html", "chart", "table", "svg", "console", "graphique", "Diagramm", "gráfico"},
		Handler: tool.HandlerFunc(render),
	}
}

// maxRemoved is how much of what was left out is told.
const maxRemoved = 20

type input struct {
	HTML   string `json:"html"`
	Height int    `json:"height"`
}

type shown struct {
	Widget  string   `json:"widget"`
	Height  int      `json:"height"`
	Removed []string `json:"removed"`
}

func render(_ context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
	const op = Namespace + ".render"
	in, err := module.Args[input](op, call)
	if err != nil {
		return nil, err
	}
	s := module.SettingsOf(g, defaultSettings)
	if len(in.HTML) > s.MaxBytes {
		return nil, tool.Errorf(op, tool.Invalid, "the page has %s, and the app shows at most %s",
			amount.Bytes(int64(len(in.HTML))), amount.Bytes(int64(s.MaxBytes))).
			WithHint("show less: a summary, or the first rows")
	}
	clean, removed, err := safehtml.Clean(in.HTML)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the page is not shown: %w", err).WithHint("write it more simply")
	}
	if strings.TrimSpace(clean) == "" {
		return nil, tool.Errorf(op, tool.Invalid, "nothing of the page can be shown").
			WithHint("scripts, frames, forms and what lies elsewhere are never shown: write elements, styles and SVG")
	}
	if more := len(removed) - maxRemoved; more > 0 {
		removed = append(removed[:maxRemoved:maxRemoved], fmt.Sprintf("%d more", more))
	}
	data := shown{Widget: call.ID, Height: cmp.Or(in.Height, s.Height), Removed: append([]string{}, removed...)}
	result, err := tool.OK("it is shown in the console, in this conversation and on the page of this call", data)
	if err == nil && len(removed) > 0 {
		result.Warnings = append(result.Warnings,
			fmt.Sprintf("left out, for a widget only shows: %s", strings.Join(removed, ", ")))
	}
	return result, err
}
