// Package icalendar reads the events of iCalendar files, and writes them.
//
// # Law
//
//   - Others write these files, by invitation too: each is read as far as it can be, what is
//     wrong with it is said, and no rule makes reading it longer than a bound.
//   - A time is in the zone that the file names; one without a zone is in the reader's. A day
//     is a day in every zone.
//   - Writing changes the properties that are given and keeps all others.
package icalendar

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-ical"
	"github.com/teambition/rrule-go"
)

// Event is an event, or one occurrence of an event that recurs.
type Event struct {
	UID, Summary, Location, Description string
	Status                              string // CONFIRMED, TENTATIVE, CANCELLED, or ""
	Organizer                           string
	Attendees                           []string
	Start, End                          time.Time
	AllDay                              bool
	Busy                                bool   // it takes time
	Rule                                string // by which it recurs; "": it does not
}

// The bounds of a file.
const (
	maxOccurrences = 5000
	maxSteps       = 200_000
)

// File is an iCalendar file.
type File struct{ cal *ical.Calendar }

// Parse reads a file.
func Parse(data []byte) (f *File, err error) {
	defer func() {
		if recover() != nil { // the parser does not expect every mistake
			f, err = nil, errors.New("it is no iCalendar file")
		}
	}()
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, errors.New("it is empty")
	}
	cal, err := ical.NewDecoder(bytes.NewReader(append(data, "\r\n"...))).Decode()
	if err != nil {
		return nil, fmt.Errorf("it is no iCalendar file: %w", err)
	}
	if len(cal.Events()) == 0 {
		return nil, errors.New("it has no event")
	}
	return &File{cal}, nil
}

// Events returns what happens between two times, in their order: each occurrence of an event
// that recurs. Problems say what could not be read.
func (f *File) Events(from, to time.Time, local *time.Location) (all []Event, problems []string) {
	moved := map[string]bool{} // occurrences that an event of their own replaces
	for _, e := range f.cal.Events() {
		if id := e.Props.Get(ical.PropRecurrenceID); id != nil {
			if at, err := timeOf(id, local); err == nil {
				moved[occurrence(e, at)] = true
			}
		}
	}
	for _, e := range f.cal.Events() {
		list, err := expand(e, from, to, local)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, one := range list {
			if e.Props.Get(ical.PropRecurrenceID) == nil && moved[occurrence(e, one.Start)] {
				continue
			}
			if one.overlaps(from, to) {
				all = append(all, one)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return all, problems
}

func occurrence(e ical.Event, at time.Time) string {
	return text(e, ical.PropUID) + "\x00" + at.UTC().Format(time.RFC3339)
}

func (e *Event) overlaps(from, to time.Time) bool {
	return e.Start.Before(to) && (e.End.After(from) || e.Start.Equal(e.End) && !e.Start.Before(from))
}

// Main returns the event of the file as it is written, without its occurrences.
func (f *File) Main(local *time.Location) (Event, error) { return read(f.main(), local) }

// main is the component that the others of the file are exceptions of.
func (f *File) main() ical.Event {
	all := f.cal.Events()
	for _, e := range all {
		if e.Props.Get(ical.PropRecurrenceID) == nil {
			return e
		}
	}
	return all[0]
}

// read reads an event.
func read(e ical.Event, local *time.Location) (Event, error) {
	out := Event{
		UID: text(e, ical.PropUID), Summary: text(e, ical.PropSummary), Location: text(e, ical.PropLocation),
		Description: text(e, ical.PropDescription), Status: strings.ToUpper(text(e, ical.PropStatus)),
		Organizer: address(e.Props.Get(ical.PropOrganizer)),
	}
	for i, p := range e.Props[ical.PropAttendee] {
		if i < 200 {
			out.Attendees = append(out.Attendees, address(&p))
		}
	}
	if p := e.Props.Get(ical.PropRecurrenceRule); p != nil {
		out.Rule = p.Value
	}
	out.Busy = !strings.EqualFold(text(e, ical.PropTransparency), "TRANSPARENT") && out.Status != "CANCELLED"
	name := out.Summary
	start := e.Props.Get(ical.PropDateTimeStart)
	if start == nil {
		return out, fmt.Errorf("the event %q has no start", name)
	}
	var err error
	if out.Start, err = timeOf(start, local); err != nil {
		return out, fmt.Errorf("the start of the event %q cannot be read: %w", name, err)
	}
	out.AllDay = isDay(start)
	switch end, length := e.Props.Get(ical.PropDateTimeEnd), e.Props.Get(ical.PropDuration); {
	case end != nil:
		out.End, err = timeOf(end, local)
	case length != nil:
		var d time.Duration
		d, err = length.Duration()
		out.End = out.Start.Add(d)
	case out.AllDay:
		out.End = out.Start.AddDate(0, 0, 1)
	default:
		out.End = out.Start
	}
	if err != nil {
		return out, fmt.Errorf("the end of the event %q cannot be read: %w", name, err)
	}
	if out.End.Before(out.Start) {
		out.End = out.Start
		return out, fmt.Errorf("the event %q ends before it starts", name)
	}
	return out, nil
}

// expand returns the occurrences of an event until a time.
func expand(e ical.Event, from, to time.Time, local *time.Location) ([]Event, error) {
	first, err := read(e, local)
	if err != nil && first.Start.IsZero() {
		return nil, err
	}
	if first.Rule == "" && len(e.Props[ical.PropRecurrenceDates]) == 0 {
		return []Event{first}, err
	}
	set, err := recurrence(e, first, to, local)
	if err != nil {
		return []Event{first}, fmt.Errorf("the event %q recurs in a way that cannot be read (%w); "+
			"its first occurrence is told", first.Summary, err)
	}
	next := set.Iterator()
	var all []Event
	for range maxSteps {
		at, ok := next()
		if !ok || !at.Before(to) {
			return all, nil
		}
		one := first
		one.Start, one.End = at, at.Add(first.End.Sub(first.Start))
		if first.AllDay { // days, whatever their hours
			one.End = at.AddDate(0, 0, days(first))
		}
		if one.overlaps(from, to) {
			if all = append(all, one); len(all) >= maxOccurrences {
				break
			}
		}
	}
	return all, fmt.Errorf("the event %q recurs more often than is told", first.Summary)
}

func days(e Event) int { return max(int(e.End.Sub(e.Start).Round(24*time.Hour)/(24*time.Hour)), 1) }

// recurrence reads when an event recurs.
func recurrence(e ical.Event, first Event, to time.Time, local *time.Location) (*rrule.Set, error) {
	set := &rrule.Set{}
	if first.Rule != "" {
		opt, err := rrule.StrToROptionInLocation(first.Rule, first.Start.Location())
		if err != nil {
			return nil, err
		}
		switch {
		case opt.Freq >= rrule.MINUTELY:
			return nil, errors.New("every minute, or more often")
		case first.Start.Year() < 1900:
			return nil, errors.New("it begins before 1900")
		}
		opt.Dtstart = first.Start
		if opt.Until.IsZero() || opt.Until.After(to) {
			opt.Until = to
		} else if first.AllDay {
			opt.Until = opt.Until.AddDate(0, 0, 1).Add(-time.Second)
		}
		rule, err := rrule.NewRRule(*opt)
		if err != nil {
			return nil, err
		}
		set.RRule(rule)
	}
	set.RDate(first.Start) // the start is an occurrence, whatever the rule says
	for name, add := range map[string]func(time.Time){
		ical.PropRecurrenceDates: set.RDate, ical.PropExceptionDates: set.ExDate,
	} {
		for _, p := range e.Props[name] {
			for value := range strings.SplitSeq(p.Value, ",") {
				one := p
				one.Value = value
				at, err := timeOf(&one, local)
				if err != nil {
					return nil, err
				}
				add(at)
			}
		}
	}
	return set, nil
}

func text(e ical.Event, name string) string {
	p := e.Props.Get(name)
	if p == nil {
		return ""
	}
	t, err := p.Text()
	if err != nil {
		t = p.Value
	}
	return strings.ToValidUTF8(t, "�")
}

// address is a person of an event.
func address(p *ical.Prop) string {
	if p == nil {
		return ""
	}
	at := p.Value
	if len(at) > 7 && strings.EqualFold(at[:7], "mailto:") {
		at = at[7:]
	}
	if name := p.Params.Get(ical.ParamCommonName); name != "" && name != at {
		return strings.ToValidUTF8(name+" <"+at+">", "�")
	}
	return strings.ToValidUTF8(at, "�")
}
