// Package calendar is the module for calendars at a CalDAV server: what happens when, making,
// changing and deleting events, and when somebody is free.
//
// Package icalendar reads and writes events; callgate/internal/module/dav reaches the server.
// Texts of events are data for the model: anybody may send an invitation.
package calendar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/calendar/icalendar"
	"callgate/internal/module/dav"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "calendar"

// settings are what an app file may say about the module.
type settings struct {
	dav.Settings

	Zone     string   `config:"zone" help:"the time zone of times that name none: Europe/Paris"`
	Calendar string   `config:"calendar" help:"where new events go, by the calendar's name; needed where there are several"`
	Only     []string `constraint:"calendars" help:"only these calendars are seen, by their names"`

	zone *time.Location
}

func defaults() *settings { return &settings{Settings: dav.Defaults(), Zone: "UTC"} }

// Check reads the settings, so that a mistake is reported when the app is opened.
func (s *settings) Check() (err error) {
	if s.zone, err = time.LoadLocation(s.Zone); err != nil || s.Zone == "Local" {
		return fmt.Errorf("config.zone: %q is no time zone: write one as Europe/Paris", tool.Truncate(s.Zone))
	}
	return s.Prepare(Namespace)
}

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name:          Namespace,
		Summary:       "Calendars (CalDAV): list, make, change and delete events, and find free time.",
		Settings:      func() any { return defaults() },
		Credential:    true,
		NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: tools()}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description beside it, and a
// line here.
func tools() []*tool.Tool {
	tags := []string{
		"calendar", "caldav", "event", "agenda", "appointment", "calendrier", "Kalender", "calendario", "日历", "カレンダー",
	}
	return dav.Tools(Namespace, tags,
		listCalendarsTool(), listEventsTool(), freeBusyTool(), createEventTool(), updateEventTool(), deleteEventTool())
}

func reads() tool.Runtime { return dav.Reads(Namespace) }

func changes(r tool.Risk) tool.Runtime { return dav.Changes(Namespace, r) }

// call is one call of a tool.
type call struct {
	*dav.Client
	op       string
	settings *settings
}

// handler returns the handler of a tool.
func handler[In any](name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return dav.Handler(op, defaults, func(ctx context.Context, c *dav.Client, s *settings, in In) (*tool.Result, error) {
		return run(ctx, &call{c, op, s}, in)
	})
}

// calendars lists the calendars that the app may see; named chooses one by its name or path.
func (c *call) calendars(ctx context.Context, named string) ([]dav.Collection, error) {
	all, err := c.Collections(ctx, dav.Calendars)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one dav.Collection) bool { return !one.Holds("VEVENT") })
	return c.Choose(all, c.settings.Only, named, "calendar")
}

// object reads an event's file that a call names, in a calendar that the app may see. The
// ETag is the one that the call has seen.
func (c *call) object(ctx context.Context, id, etag string) (*dav.Object, *icalendar.File, error) {
	all, err := c.calendars(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	if _, err := c.Inside(all, id); err != nil {
		return nil, nil, err
	}
	o, err := c.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	f, err := icalendar.Parse(o.Data)
	if err != nil {
		return nil, nil, tool.Errorf(c.op, tool.Failed, "the event %s cannot be read: %v", tool.Truncate(id), err)
	}
	o.ETag = etag
	return o, f, nil
}

// when reads a time or a day of a call; zone is where times without an offset are.
func (c *call) when(key, text string, zone *time.Location) (at time.Time, day bool, err error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, true, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.In(zone), false, nil
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(form, text, zone); err == nil {
			return at, false, nil
		}
	}
	return time.Time{}, false, tool.Errorf(c.op, tool.Invalid, "%s: %q is no time", key, tool.Truncate(text)).
		WithHint("write 2026-01-31T14:00 in the zone of the call, 2026-01-31T14:00:00+01:00, or 2026-01-31 for a day")
}

// zoneOf is the time zone that a call names, or else the app's.
func (c *call) zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return c.settings.zone, nil
	}
	zone, err := icalendar.Zone(name)
	if err != nil {
		return nil, tool.Errorf(c.op, tool.Invalid, "zone: %v", err).
			WithHint("use a name of the tz database, such as Europe/Paris")
	}
	return zone, nil
}

// span reads the range of a call. Without a start it begins now, without an end it lasts some
// days.
func (c *call) span(start, end string, days int, zone *time.Location) (from, to time.Time, err error) {
	from = time.Now().In(zone)
	if start != "" {
		if from, _, err = c.when("start", start, zone); err != nil {
			return from, to, err
		}
	}
	to = from.AddDate(0, 0, days)
	if end != "" {
		var day bool
		if to, day, err = c.when("end", end, zone); err != nil {
			return from, to, err
		}
		if day { // the whole of it
			to = to.AddDate(0, 0, 1)
		}
	}
	switch {
	case !to.After(from):
		err = tool.Errorf(c.op, tool.Invalid, "the end is not after the start")
	case to.Sub(from) > 5*366*24*time.Hour:
		err = tool.Errorf(c.op, tool.Invalid, "the range is longer than five years").WithHint("ask for less")
	}
	return from, to, err
}

// asTool gives an error of this package the name of the tool.
func (c *call) asTool(err error) error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return tool.Errorf(c.op, tool.Invalid, "%v", err)
}
