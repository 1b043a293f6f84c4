package calendar

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/fence"
	"callgate/internal/module/calendar/icalendar"
	"callgate/internal/module/dav"
	"callgate/tool"
)

// eventData is an event, or an occurrence of one, in a result.
type eventData struct {
	ID          string   `json:"id"`
	ETag        string   `json:"etag"`
	Calendar    string   `json:"calendar"`
	Summary     string   `json:"summary"`
	Start       string   `json:"start"`
	End         string   `json:"end"`
	AllDay      bool     `json:"all_day,omitempty"`
	Location    string   `json:"location,omitempty"`
	Description string   `json:"description,omitempty"`
	Status      string   `json:"status,omitempty"`
	Organizer   string   `json:"organizer,omitempty"`
	Attendees   []string `json:"attendees,omitempty"`
	Recurs      string   `json:"recurs,omitempty"`

	event icalendar.Event
}

const eventSchema = `{"type": "object", "properties": {
    "id": {"type": "string", "description": "Names the event to update_event and delete_event."},
    "etag": {"type": "string", "description": "Its version."},
    "calendar": {"type": "string"}, "summary": {"type": "string"},
    "start": {"type": "string"}, "end": {"type": "string", "description": "The end itself is no part of it."},
    "all_day": {"type": "boolean"}, "location": {"type": "string"}, "description": {"type": "string"},
    "status": {"type": "string"}, "organizer": {"type": "string"},
    "attendees": {"type": "array", "items": {"type": "string"}},
    "recurs": {"type": "string", "description": "The rule by which it recurs; id is the whole series."}
  }, "required": ["id", "etag", "calendar", "summary", "start", "end"]}`

func dataOf(e icalendar.Event, o dav.Object, calendar string, zone *time.Location) eventData {
	d := eventData{
		ID: o.Path, ETag: o.ETag, Calendar: calendar, Summary: tool.TruncateTo(e.Summary, 500), AllDay: e.AllDay,
		Location: tool.TruncateTo(e.Location, 500), Description: tool.TruncateTo(e.Description, 4000),
		Status: strings.ToLower(tool.Truncate(e.Status)), Organizer: tool.TruncateTo(e.Organizer, 300),
		Attendees: e.Attendees, Recurs: tool.TruncateTo(e.Rule, 300), event: e,
	}
	d.Start, d.End = e.Start.In(zone).Format(time.RFC3339), e.End.In(zone).Format(time.RFC3339)
	if e.AllDay {
		d.Start, d.End = e.Start.Format(time.DateOnly), e.End.Format(time.DateOnly)
	}
	return d
}

// line is an event in a list. What somebody wrote is in quotes.
func (d *eventData) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s – %s  %s", d.Start, d.End, fence.Value(tool.TruncateTo(oneLine(d.Summary), 150)))
	for _, f := range []struct{ name, value string }{
		{"at", d.Location}, {"by", d.Organizer}, {"with", strings.Join(d.Attendees, ", ")}, {"status", d.Status},
		{"recurs", d.Recurs}, {"about", d.Description},
	} {
		if f.value != "" {
			b.WriteString("  " + f.name + " " + fence.Value(tool.TruncateTo(oneLine(f.value), 200)))
		}
	}
	fmt.Fprintf(&b, "\n    %s  id %s  etag %s", fence.Value(d.Calendar), fence.Value(d.ID), fence.Value(d.ETag))
	return b.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const calendarQuery = `<?xml version="1.0" encoding="utf-8"?>
<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">` +
	`<d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter>` +
	`<c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"><c:time-range start="%s" end="%s"/>` +
	`</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>`

// events reads what happens between two times in calendars, in order.
func (c *call) events(
	ctx context.Context, calendars []dav.Collection, from, to time.Time, zone *time.Location,
) (all []eventData, problems []string, err error) {
	const form = "20060102T150405Z"
	// A day begins elsewhere up to a day earlier.
	day := 24 * time.Hour
	body := fmt.Sprintf(calendarQuery, from.Add(-day).UTC().Format(form), to.Add(day).UTC().Format(form))
	for _, calendar := range calendars {
		objects, err := c.Query(ctx, calendar.Path, body)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range objects {
			f, err := icalendar.Parse(o.Data)
			if err != nil {
				problems = append(problems, fmt.Sprintf("%s cannot be read: %v", o.Path, err))
				continue
			}
			list, wrong := f.Events(from, to, zone)
			problems = append(problems, wrong...)
			for _, e := range list {
				all = append(all, dataOf(e, o, calendar.Name, zone))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b eventData) int { return a.event.Start.Compare(b.event.Start) })
	for i, p := range problems {
		problems[i] = fence.Value(tool.TruncateTo(p, 300))
	}
	return all, problems[:min(len(problems), 20)], nil
}
