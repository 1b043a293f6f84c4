package calendar

import (
	"context"
	_ "embed"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/calendar/icalendar"
	"callgate/tool"
)

//go:embed update_event.md
var updateEventDoc string

const identity = `
    "id": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The event, as list_events shows it."},
    "etag": {"type": "string", "minLength": 1, "maxLength": 500, "description": "The version that was seen, as list_events shows it."}`

const updateEventInput = `{
  "type": "object",
  "properties": {` + identity + `,` + eventParameters + `},
  "required": ["id", "etag"],
  "additionalProperties": false
}`

func updateEventTool() module.Definition {
	return module.Definition{
		Name: "update_event", Short: "CalendarUpdate", Doc: updateEventDoc, Input: updateEventInput, Output: changedOutput,
		Examples: []tool.Example{
			module.Example("move it",
				`{"id": "/ann/work/7f3a.ics", "etag": "\"a1\"", "start": "2026-03-03T10:00", "zone": "Europe/Paris"}`),
		},
		Aliases: []string{
			"events.update", "edit_event", "change_event", "move_event", "reschedule_meeting", "change an appointment",
			"move a meeting to another day", "modifier un rendez-vous", "déplacer une réunion", "Termin verschieben", "Termin ändern",
			"cambiar una cita", "alterar um evento", "spostare un appuntamento", "修改日程", "予定を変更",
		},
		Tags: []string{"update", "move", "change", "reschedule", "modifier", "verschieben"}, Runtime: changes(tool.Medium),
		Handler: handler("update_event", updateEvent),
	}
}

func updateEvent(ctx context.Context, c *call, in eventArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	o, f, err := c.object(ctx, in.ID, in.ETag)
	if err != nil {
		return nil, err
	}
	zone, err := c.zoneOf(in.Zone)
	if err != nil {
		return nil, err
	}
	if main, err := f.Main(zone); err == nil && in.Zone == "" && !main.AllDay && main.Start.Location() != time.UTC {
		zone = main.Start.Location() // it stays in the zone it was made in
	}
	change, err := c.change(in, zone)
	if err != nil {
		return nil, err
	}
	if o.Data, err = f.Write(time.Now(), change); err != nil {
		return nil, c.asTool(err)
	}
	etag, err := c.Replace(ctx, *o, icalendar.MIMEType, o.Data)
	if err != nil {
		return nil, err
	}
	o.ETag = etag
	return c.changed("changed", *o, "", zone)
}
