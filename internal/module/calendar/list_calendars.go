package calendar

import (
	"context"
	_ "embed"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed list_calendars.md
var listCalendarsDoc string

const listCalendarsOutput = `{
  "type": "object",
  "properties": {"calendars": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "path": {"type": "string"}, "description": {"type": "string"}
  }, "required": ["name", "path"]}}},
  "required": ["calendars"]
}`

func listCalendarsTool() module.Definition {
	return module.Definition{
		Name: "list_calendars", Doc: listCalendarsDoc, Output: listCalendarsOutput,
		Input:    `{"type": "object", "properties": {}, "additionalProperties": false}`,
		Examples: []tool.Example{module.Example("all of them", `{}`)},
		Aliases: []string{
			"calendars.list", "calendars", "get_calendars", "which calendars are there", "list my calendars",
			"lister mes calendriers", "Kalender auflisten", "listar calendarios", "elenca i calendari", "列出日历", "カレンダー一覧",
		},
		Tags: []string{"list", "calendars", "lister", "auflisten", "listar"}, Runtime: reads(),
		Handler: handler("list_calendars", listCalendars),
	}
}

type calendarData struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description,omitempty"`
}

func listCalendars(ctx context.Context, c *call, _ struct{}) (*tool.Result, error) {
	list, err := c.calendars(ctx, "")
	if err != nil {
		return nil, err
	}
	all, texts := []calendarData{}, []string{}
	for _, one := range list {
		all = append(all, calendarData{one.Name, one.Path, one.Description})
		texts = append(texts, fence.Value(one.Name)+"  "+fence.Value(one.Path))
	}
	return told(amount.Of(len(all), "calendar"), strings.Join(texts, "\n"), map[string]any{"calendars": all})
}

// told is a result with a text for a model and data for programs.
func told(summary, text string, data any) (*tool.Result, error) {
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(strings.TrimSpace(summary + "\n" + text))}
	}
	return r, err
}
