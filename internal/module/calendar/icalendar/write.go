package icalendar

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

// MIMEType is the type of a file.
const MIMEType = ical.MIMEType

// Change is what is to be changed of an event; nil leaves a property as it is, and "" removes
// it.
type Change struct {
	Summary, Location, Description, Rule *string
	Start, End                           *time.Time
	AllDay                               bool // Start and End are days
	Reminder                             *int // minutes before the start; -1: none
}

// New makes a file with one event.
func New(uid string, now time.Time, c Change) ([]byte, error) {
	cal := ical.NewCalendar()
	cal.Props.SetText(ical.PropVersion, "2.0")
	cal.Props.SetText(ical.PropProductID, "-//callgate//calendar//EN")
	event := ical.NewEvent()
	event.Props.SetText(ical.PropUID, uid)
	cal.Children = append(cal.Children, event.Component)
	return (&File{cal}).Write(now, c)
}

// Write returns the file with an event changed. All other properties stay.
func (f *File) Write(now time.Time, c Change) ([]byte, error) {
	e := f.main()
	for name, value := range map[string]*string{
		ical.PropSummary: c.Summary, ical.PropLocation: c.Location, ical.PropDescription: c.Description,
	} {
		switch {
		case value == nil:
		case *value == "":
			e.Props.Del(name)
		default:
			e.Props.SetText(name, strings.ReplaceAll(*value, "\r\n", "\n"))
		}
	}
	if err := setTimes(e, c); err != nil {
		return nil, err
	}
	if err := setRule(e, c.Rule); err != nil {
		return nil, err
	}
	setReminder(e, c.Reminder)
	e.Props.SetDateTime(ical.PropDateTimeStamp, now.UTC().Truncate(time.Second))
	e.Props.SetDateTime(ical.PropLastModified, now.UTC().Truncate(time.Second))
	var b bytes.Buffer
	if err := ical.NewEncoder(&b).Encode(f.cal); err != nil {
		return nil, fmt.Errorf("the event cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// setTimes writes the start and the end. A start alone moves the event.
func setTimes(e ical.Event, c Change) error {
	if c.Start == nil && c.End == nil {
		return nil
	}
	now, _ := read(e, time.UTC)
	start, end := now.Start, now.End
	day := now.AllDay
	if c.Start != nil {
		length := now.End.Sub(now.Start)
		start, end, day = *c.Start, c.Start.Add(length), c.AllDay
	}
	if c.End != nil {
		end, day = *c.End, c.AllDay
	}
	if end.Before(start) || day && !end.After(start) {
		return errors.New("it would end before it starts")
	}
	e.Props.Del(ical.PropDuration)
	if day {
		e.Props.SetDate(ical.PropDateTimeStart, start)
		e.Props.SetDate(ical.PropDateTimeEnd, end)
		return nil
	}
	e.Props.SetDateTime(ical.PropDateTimeStart, start)
	e.Props.SetDateTime(ical.PropDateTimeEnd, end.In(start.Location()))
	return nil
}

func setRule(e ical.Event, rule *string) error {
	switch {
	case rule == nil:
		return nil
	case *rule == "":
		e.Props.Del(ical.PropRecurrenceRule)
		return nil
	}
	text := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(*rule)), "RRULE:")
	if strings.ContainsAny(text, "\r\n") {
		return errors.New("the rule holds a line break")
	}
	opt, err := rrule.StrToROption(text)
	if err == nil {
		_, err = rrule.NewRRule(*opt)
	}
	if err != nil {
		return fmt.Errorf("the rule %.80q cannot be read: %w", text, err)
	}
	if opt.Freq >= rrule.HOURLY {
		return fmt.Errorf("the rule %.80q recurs more often than daily", text)
	}
	p := ical.NewProp(ical.PropRecurrenceRule)
	p.SetValueType(ical.ValueRecurrence)
	p.Value = text
	e.Props.Set(p)
	return nil
}

// setReminder replaces the reminders of an event.
func setReminder(e ical.Event, minutes *int) {
	if minutes == nil {
		return
	}
	var kept []*ical.Component
	for _, child := range e.Children {
		if child.Name != ical.CompAlarm {
			kept = append(kept, child)
		}
	}
	e.Children = kept
	if *minutes < 0 {
		return
	}
	alarm := ical.NewComponent(ical.CompAlarm)
	alarm.Props.SetText(ical.PropAction, "DISPLAY")
	alarm.Props.SetText(ical.PropDescription, "Reminder")
	trigger := ical.NewProp(ical.PropTrigger)
	trigger.Value = fmt.Sprintf("-PT%dM", *minutes)
	alarm.Props.Set(trigger)
	e.Children = append(e.Children, alarm)
}
