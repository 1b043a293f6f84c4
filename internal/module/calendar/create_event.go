package calendar

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/calendar/icalendar"
	"callgate/internal/module/dav"
	"callgate/tool"
)

//go:embed create_event.md
var createEventDoc string

const eventParameters = `
    "summary": {"type": "string", "maxLength": 500, "description": "The title."},
    "start": {"type": "string", "maxLength": 40, "description": "2026-03-02T14:00, or 2026-03-02 for whole days."},
    "end": {"type": "string", "maxLength": 40, "description": "2026-03-02T15:00; for whole days the last day."},
    "location": {"type": "string", "maxLength": 1000},
    "description": {"type": "string", "maxLength": 20000},
    "recurrence": {"type": "string", "maxLength": 500, "description": "FREQ=WEEKLY;COUNT=10, for one."},
    "reminder_minutes": {"type": "integer", "minimum": -1, "maximum": 40320, "description": "-1 removes it."},` + zoneParameter

const createEventInput = `{
  "type": "object",
  "properties": {` + eventParameters + `,
    "duration_minutes": {"type": "integer", "minimum": 1, "maximum": 527040, "description": "In the place of end."},
    "calendar": {"type": "string", "maxLength": 500, "description": "Which calendar, by its name. Default: the app's, or the only one."}
  },
  "required": ["summary", "start"],
  "additionalProperties": false
}`

const changedOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "etag": {"type": "string", "description": "Its version now; empty where the server does not say."},
    "calendar": {"type": "string"}, "start": {"type": "string"}, "end": {"type": "string"}
  },
  "required": ["id", "etag", "start", "end"]
}`

func createEventTool() module.Definition {
	return module.Definition{
		Name: "create_event", Short: "CalendarCreate", Doc: createEventDoc, Input: createEventInput, Output: changedOutput,
		Examples: []tool.Example{
			module.Example("an hour",
				`{"summary": "Dentist", "start": "2026-03-02T14:00", "zone": "Europe/Paris", "location": "12 rue X"}`),
			module.Example("every monday",
				`{"summary": "Stand-up", "start": "2026-03-02T09:00", "duration_minutes": 15, "recurrence": "FREQ=WEEKLY;BYDAY=MO"}`),
			module.Example("two whole days", `{"summary": "Fair", "start": "2026-03-02", "end": "2026-03-03"}`),
		},
		Aliases: []string{
			"events.create", "add_event", "create_calendar_event", "schedule_meeting", "book_appointment", "new_event",
			"put something in my calendar", "add an appointment", "schedule a meeting", "block time",
			"créer un rendez-vous", "ajouter à l'agenda", "Termin anlegen", "Termin eintragen", "crear un evento", "criar um compromisso",
			"creare un evento", "创建日程", "予定を追加", "создать встречу",
		},
		Tags: []string{"create", "add", "schedule", "meeting", "créer", "anlegen", "crear"}, Runtime: changes(tool.Medium),
		Handler: handler("create_event", createEvent),
	}
}

type eventArgs struct {
	ID, ETag                       string
	Summary, Location, Description *string
	Start, End, Zone, Calendar     string
	Recurrence                     *string
	Reminder                       *int `json:"reminder_minutes"`
	Duration                       int  `json:"duration_minutes"`
}

// change reads what a call says of an event.
func (c *call) change(in eventArgs, zone *time.Location) (icalendar.Change, error) {
	out := icalendar.Change{
		Summary: in.Summary, Location: in.Location, Description: in.Description, Rule: in.Recurrence, Reminder: in.Reminder,
	}
	for _, text := range []*string{in.Summary, in.Location} {
		if text != nil && strings.ContainsAny(*text, "\r\n\x00") {
			return out, tool.Errorf(c.op, tool.Invalid, "summary and location are one line each")
		}
	}
	var startDay, endDay bool
	if in.Start != "" {
		at, day, err := c.when("start", in.Start, zone)
		if err != nil {
			return out, err
		}
		out.Start, out.AllDay, startDay = &at, day, day
	}
	if in.End != "" {
		at, day, err := c.when("end", in.End, zone)
		if err != nil {
			return out, err
		}
		if day { // it lasts until that day is over
			at = at.AddDate(0, 0, 1)
		}
		out.End, out.AllDay, endDay = &at, day, day
	}
	if in.Start != "" && in.End != "" && startDay != endDay {
		return out, tool.Errorf(c.op, tool.Invalid, "start and end must both be times, or both days")
	}
	return out, nil
}

func createEvent(ctx context.Context, c *call, in eventArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	zone, err := c.zoneOf(in.Zone)
	if err != nil {
		return nil, err
	}
	change, err := c.change(in, zone)
	if err != nil {
		return nil, err
	}
	switch {
	case change.End != nil && in.Duration > 0:
		return nil, tool.Errorf(c.op, tool.Invalid, "end and duration_minutes say the same").WithHint("give one of them")
	case change.End == nil && change.AllDay:
		end := change.Start.AddDate(0, 0, 1)
		change.End = &end
	case change.End == nil:
		end := change.Start.Add(time.Duration(cmp.Or(in.Duration, 60)) * time.Minute)
		change.End = &end
	}
	calendar, err := c.target(ctx, in.Calendar)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", *in.Summary, in.Start, now.UnixNano()))
	uid := hex.EncodeToString(sum[:16])
	data, err := icalendar.New(uid, now, change)
	if err != nil {
		return nil, c.asTool(err)
	}
	at := calendar.Path + uid + ".ics"
	etag, err := c.Create(ctx, at, icalendar.MIMEType, data)
	if err != nil {
		return nil, err
	}
	return c.changed("made", dav.Object{Path: at, ETag: etag, Data: data}, calendar.Name, zone)
}

// target is the calendar that a new event goes to.
func (c *call) target(ctx context.Context, named string) (dav.Collection, error) {
	list, err := c.calendars(ctx, cmp.Or(named, c.settings.Calendar))
	if err != nil {
		return dav.Collection{}, err
	}
	return c.One(list, "calendar")
}

// changed is the result of a change, with the event as it was written.
func (c *call) changed(verb string, o dav.Object, calendar string, zone *time.Location) (*tool.Result, error) {
	f, err := icalendar.Parse(o.Data)
	if err != nil {
		return nil, c.asTool(err)
	}
	e, err := f.Main(zone)
	if err != nil {
		return nil, c.asTool(err)
	}
	d := dataOf(e, o, calendar, zone)
	summary := fmt.Sprintf("%s %s, %s – %s, id %s, etag %s",
		verb, fence.Value(d.Summary), d.Start, d.End, d.ID, fence.Value(d.ETag))
	return told(summary, "", map[string]any{
		"id": d.ID, "etag": d.ETag, "calendar": d.Calendar, "start": d.Start, "end": d.End,
	})
}
