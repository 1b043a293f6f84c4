package calendar

import (
	"context"
	_ "embed"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed delete_event.md
var deleteEventDoc string

func deleteEventTool() module.Definition {
	return module.Definition{
		Name: "delete_event", Short: "CalendarDelete", Doc: deleteEventDoc,
		Input: `{"type": "object", "properties": {` + identity + `},
  "required": ["id", "etag"], "additionalProperties": false}`,
		Output: `{"type": "object", "properties": {"id": {"type": "string"}, "summary": {"type": "string"}},
  "required": ["id", "summary"]}`,
		Examples: []tool.Example{module.Example("one", `{"id": "/ann/work/7f3a.ics", "etag": "\"a1\""}`)},
		Aliases: []string{
			"events.delete", "remove_event", "cancel_event", "cancel_meeting", "delete an appointment", "cancel a meeting",
			"supprimer un rendez-vous", "annuler une réunion", "Termin löschen", "Termin absagen", "borrar una cita", "excluir um evento",
			"cancellare un appuntamento", "删除日程", "予定を削除",
		},
		Tags: []string{"delete", "remove", "cancel", "supprimer", "löschen", "borrar"}, Runtime: changes(tool.High),
		Handler: handler("delete_event", deleteEvent),
	}
}

func deleteEvent(ctx context.Context, c *call, in eventArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	o, f, err := c.object(ctx, in.ID, in.ETag)
	if err != nil {
		return nil, err
	}
	e, _ := f.Main(c.settings.zone)
	if err := c.Delete(ctx, *o); err != nil {
		return nil, err
	}
	summary := "deleted " + fence.Value(tool.TruncateTo(e.Summary, 300))
	return told(summary, "", map[string]any{"id": o.Path, "summary": e.Summary})
}
