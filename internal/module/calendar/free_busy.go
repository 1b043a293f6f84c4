package calendar

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

//go:embed free_busy.md
var freeBusyDoc string

const freeBusyInput = `{
  "type": "object",
  "properties": {` + rangeParameters + `,
    "min_minutes": {"type": "integer", "minimum": 1, "maximum": 10080, "default": 15, "description": "The shortest that is told."},
    "day_start": {"type": "string", "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$", "description": "Free time begins no earlier: 09:00."},
    "day_end": {"type": "string", "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$", "description": "Free time ends no later: 17:00."}
  },
  "additionalProperties": false
}`

const freeBusyOutput = `{
  "type": "object",
  "properties": {
    "busy": {"type": "array", "items": {"type": "object", "properties": {"start": {"type": "string"}, "end": {"type": "string"}}}},
    "free": {"type": "array", "items": {"type": "object", "properties": {"start": {"type": "string"}, "end": {"type": "string"}}}},
    "zone": {"type": "string"}
  },
  "required": ["busy", "free", "zone"]
}`

func freeBusyTool() module.Definition {
	return module.Definition{
		Name: "free_busy", Short: "CalendarFree", Doc: freeBusyDoc, Input: freeBusyInput, Output: freeBusyOutput,
		Examples: []tool.Example{
			module.Example("an hour, in working time",
				`{"start": "2026-03-02", "end": "2026-03-06", "min_minutes": 60, "day_start": "09:00", "day_end": "17:00"}`),
		},
		Aliases: []string{
			"freebusy", "find_free_time", "availability", "when am I free", "find a slot for a meeting", "am I busy on monday",
			"quand suis-je libre", "trouver un créneau", "freie Zeit finden", "wann bin ich frei", "cuándo estoy libre", "horário livre",
			"quando sono libero", "查找空闲时间", "空き時間",
		},
		Tags: []string{"free", "busy", "availability", "slot", "libre", "frei", "disponibilité"}, Runtime: reads(),
		Handler: handler("free_busy", freeBusy),
	}
}

type freeBusyArgs struct {
	Start, End, Calendar, Zone string
	MinMinutes                 int    `json:"min_minutes"`
	DayStart                   string `json:"day_start"`
	DayEnd                     string `json:"day_end"`
}

type interval struct{ from, to time.Time }

func freeBusy(ctx context.Context, c *call, in freeBusyArgs) (*tool.Result, error) {
	zone, err := c.zoneOf(in.Zone)
	if err != nil {
		return nil, err
	}
	from, to, err := c.span(in.Start, in.End, 7, zone)
	if err != nil {
		return nil, err
	}
	if to.Sub(from) > 366*24*time.Hour {
		return nil, tool.Errorf(c.op, tool.Invalid, "the range is longer than a year").WithHint("ask for less")
	}
	if in.DayStart != "" && in.DayEnd != "" && in.DayEnd <= in.DayStart {
		return nil, tool.Errorf(c.op, tool.Invalid, "day_end is not after day_start")
	}
	calendars, err := c.calendars(ctx, in.Calendar)
	if err != nil {
		return nil, err
	}
	events, problems, err := c.events(ctx, calendars, from, to, zone)
	if err != nil {
		return nil, err
	}
	busy := busyTimes(events, from, to)
	free := gaps(busy, from, to, in, zone)
	var texts []string
	for _, i := range free {
		texts = append(texts, fmt.Sprintf("free %s – %s  %s", i.from.In(zone).Format(time.RFC3339),
			i.to.In(zone).Format(time.RFC3339), minutes(i.to.Sub(i.from))))
	}
	r, err := told(fmt.Sprintf("busy %d times and free %d times from %s to %s (%s)", len(busy), len(free),
		from.Format("2006-01-02 15:04"), to.Format("2006-01-02 15:04"), zone), strings.Join(texts, "\n"),
		map[string]any{"busy": shown(busy, zone), "free": shown(free, zone), "zone": zone.String()})
	if err == nil {
		r.Warnings = problems
	}
	return r, err
}

// busyTimes joins the times that events take, which come in order.
func busyTimes(events []eventData, from, to time.Time) []interval {
	var all []interval
	for _, e := range events {
		if !e.event.Busy || !e.event.End.After(e.event.Start) {
			continue
		}
		i := interval{latest(e.event.Start, from), earliest(e.event.End, to)}
		if n := len(all); n > 0 && !i.from.After(all[n-1].to) {
			all[n-1].to = latest(all[n-1].to, i.to)
			continue
		}
		all = append(all, i)
	}
	return all
}

// gaps returns the free times between busy ones, within the hours that a call names.
func gaps(busy []interval, from, to time.Time, in freeBusyArgs, zone *time.Location) []interval {
	least := time.Duration(cmp.Or(in.MinMinutes, 15)) * time.Minute
	var all []interval
	keep := func(i interval) {
		for _, part := range withinHours(i, in.DayStart, in.DayEnd, zone) {
			if part.to.Sub(part.from) >= least {
				all = append(all, part)
			}
		}
	}
	at := from
	for _, b := range busy {
		keep(interval{at, b.from})
		at = latest(at, b.to)
	}
	keep(interval{at, to})
	return all
}

// withinHours cuts a time to certain hours of each day.
func withinHours(i interval, start, end string, zone *time.Location) []interval {
	if start == "" && end == "" || !i.to.After(i.from) {
		return []interval{i}
	}
	var all []interval
	y, m, d := i.from.In(zone).Date()
	for n := 0; ; n++ {
		day := time.Date(y, m, d+n, 0, 0, 0, 0, zone)
		if !day.Before(i.to) {
			return all
		}
		opens, closes := hour(day, start, zone), hour(day, end, zone)
		if end == "" {
			closes = time.Date(y, m, d+n+1, 0, 0, 0, 0, zone)
		}
		part := interval{latest(i.from, opens), earliest(i.to, closes)}
		if part.to.After(part.from) {
			all = append(all, part)
		}
	}
}

// hour is a time of a day, such as 09:00.
func hour(day time.Time, text string, zone *time.Location) time.Time {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return day
	}
	return time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), 0, 0, zone)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func shown(list []interval, zone *time.Location) []map[string]string {
	all := []map[string]string{}
	for _, i := range list {
		start, end := i.from.In(zone).Format(time.RFC3339), i.to.In(zone).Format(time.RFC3339)
		all = append(all, map[string]string{"start": start, "end": end})
	}
	return all
}
