package calendar

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed list_events.md
var listEventsDoc string

// Parameters that several tools share.
const (
	rangeParameters = `
    "start": {"type": "string", "maxLength": 40, "description": "From when: 2026-01-31 or 2026-01-31T14:00. Default: now."},
    "end": {"type": "string", "maxLength": 40, "description": "Until when; a day is the whole of it."},
    "calendar": {"type": "string", "maxLength": 500, "description": "One calendar, by its name. Default: all."},` + zoneParameter
	zoneParameter = `
    "zone": {"type": "string", "maxLength": 100, "description": "The time zone: Europe/Paris. Default: the app's."}`
)

const listEventsInput = `{
  "type": "object",
  "properties": {` + rangeParameters + `,
    "query": {"type": "string", "maxLength": 500, "description": "Words that the event contains."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}
  },
  "additionalProperties": false
}`

const listEventsOutput = `{
  "type": "object",
  "properties": {
    "events": {"type": "array", "items": ` + eventSchema + `},
    "found": {"type": "integer"},
    "zone": {"type": "string"}
  },
  "required": ["events", "found", "zone"]
}`

func listEventsTool() module.Definition {
	return module.Definition{
		Name: "list_events", Short: "CalendarEvents", Doc: listEventsDoc, Input: listEventsInput, Output: listEventsOutput,
		Examples: []tool.Example{
			module.Example("the next seven days", `{}`),
			module.Example("a day", `{"start": "2026-03-02", "end": "2026-03-02", "zone": "Europe/Paris"}`),
		},
		Aliases: []string{
			"events.list", "get_events", "search_events", "list_calendar_events", "calendar_events", "agenda",
			"what is in my calendar", "my appointments today", "what do I have this week", "when is the meeting",
			"qu'ai-je à l'agenda", "mes rendez-vous", "Termine anzeigen", "was steht im Kalender", "ver mi agenda", "i miei appuntamenti",
			"meus compromissos", "查看日程", "予定を見る", "мои встречи",
		},
		Tags: []string{"list", "schedule", "today", "week", "meeting", "rendez-vous", "Termin", "cita"}, Runtime: reads(),
		Handler: handler("list_events", listEvents),
	}
}

type listEventsArgs struct {
	Start, End, Calendar, Zone, Query string
	Limit                             int
}

func listEvents(ctx context.Context, c *call, in listEventsArgs) (*tool.Result, error) {
	zone, err := c.zoneOf(in.Zone)
	if err != nil {
		return nil, err
	}
	from, to, err := c.span(in.Start, in.End, 7, zone)
	if err != nil {
		return nil, err
	}
	calendars, err := c.calendars(ctx, in.Calendar)
	if err != nil {
		return nil, err
	}
	all, problems, err := c.events(ctx, calendars, from, to, zone)
	if err != nil {
		return nil, err
	}
	kept, texts := []eventData{}, []string{}
	found := 0
	for _, e := range all {
		if in.Query != "" && !contains(e.Summary+"\n"+e.Location+"\n"+e.Description, in.Query) {
			continue
		}
		if found++; len(kept) < cmp.Or(in.Limit, 100) {
			kept, texts = append(kept, e), append(texts, e.line())
		}
	}
	if len(kept) > 0 {
		texts = append(texts, fence.Quoted)
	}
	summary := fmt.Sprintf("%s from %s to %s (%s)", amount.Of(found, "event"), from.Format("2006-01-02 15:04"),
		to.Format("2006-01-02 15:04"), zone)
	if found > len(kept) {
		summary += fmt.Sprintf("; the first %d are shown", len(kept))
	}
	data := map[string]any{"events": kept, "found": found, "zone": zone.String()}
	r, err := told(summary, strings.Join(texts, "\n"), data)
	if err == nil {
		r.Warnings = problems
	}
	return r, err
}

func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// minutes writes a length of time for people.
func minutes(d time.Duration) string { return amount.Of(int(d/time.Minute), "minute") }
