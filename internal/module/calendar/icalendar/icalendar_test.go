package icalendar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/internal/module/calendar/icalendar"
)

var berlin = func() *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return zone
}()

// file is a file with events, each given by its lines.
func file(events ...string) []byte {
	text := "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n"
	for _, e := range events {
		text += "BEGIN:VEVENT\nUID:u\nDTSTAMP:20260101T000000Z\n" + e + "\nEND:VEVENT\n"
	}
	return []byte(strings.ReplaceAll(text+"END:VCALENDAR\n", "\n", "\r\n"))
}

func TestEvents(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2026, 3, 1, 0, 0, 0, 0, berlin), time.Date(2026, 4, 30, 0, 0, 0, 0, berlin)
	for name, c := range map[string]struct{ event, want, problem string }{
		"a time in UTC":       {"DTSTART:20260310T080000Z\nDTEND:20260310T090000Z", "03-10T09:00+01:00/60", ""},
		"a time in a zone":    {"DTSTART;TZID=America/New_York:20260310T080000\nDURATION:PT15M", "03-10T13:00+01:00/15", ""},
		"the reader's zone":   {"DTSTART:20260310T080000", "03-10T08:00+01:00/0", ""},
		"Microsoft's zone":    {"DTSTART;TZID=Pacific Standard Time:20260310T080000", "03-10T16:00+01:00/0", ""},
		"Mozilla's zone":      {"DTSTART;TZID=/mozilla.org/20050126_1/Europe/London:20260310T080000", "03-10T09:00+01:00/0", ""},
		"a zone of nowhere":   {"DTSTART;TZID=Mars:20260310T080000", "", "is not known"},
		"a day":               {"DTSTART;VALUE=DATE:20260310", "03-10T00:00+01:00/1440", ""},
		"over the change":     {"DTSTART;TZID=Europe/Berlin:20260328T100000\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=2", "03-28T10:00+01:00/60 03-29T10:00+02:00/60", ""},
		"days over it":        {"DTSTART;VALUE=DATE:20260328\nRRULE:FREQ=DAILY;COUNT=2", "03-28T00:00+01:00/1440 03-29T00:00+01:00/1380", ""},
		"until":               {"DTSTART;VALUE=DATE:20260309\nRRULE:FREQ=WEEKLY;UNTIL=20260316", "03-09T00:00+01:00/1440 03-16T00:00+01:00/1440", ""},
		"more and fewer":      {"DTSTART:20260310T080000Z\nRRULE:FREQ=DAILY;COUNT=2\nRDATE:20260320T080000Z\nEXDATE:20260311T080000Z", "03-10T09:00+01:00/0 03-20T09:00+01:00/0", ""},
		"ever since":          {"DTSTART:19990105T080000Z\nRRULE:FREQ=MONTHLY;BYDAY=1TU", "03-03T09:00+01:00/0 04-07T10:00+02:00/0", ""},
		"never":               {"DTSTART:20260310T080000Z\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "03-10T09:00+01:00/0", ""},
		"every second":        {"DTSTART:20000310T080000Z\nRRULE:FREQ=SECONDLY", "", "recurs in a way"},
		"every hour for ever": {"DTSTART:19000310T080000Z\nRRULE:FREQ=HOURLY", "", "more often than is told"},
		"before there was":    {"DTSTART:00010310T080000Z\nRRULE:FREQ=DAILY", "", "before 1900"},
		"no start":            {"SUMMARY:x", "", "has no start"},
		"no time":             {"DTSTART:yesterday", "", "is no time"},
		"backwards":           {"DTSTART:20260310T080000Z\nDTEND:20260309T080000Z", "03-10T09:00+01:00/0", "ends before"},
		"another month":       {"DTSTART:20260510T080000Z", "", ""},
	} {
		f, err := icalendar.Parse(file(c.event))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, problems := f.Events(from, to, berlin)
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s/%.0f", e.Start.In(berlin).Format("01-02T15:04Z07:00"), e.End.Sub(e.Start).Minutes()))
		}
		if text := strings.Join(got, " "); text != c.want ||
			!strings.Contains(strings.Join(problems, ";"), c.problem) || c.problem == "" && len(problems) > 0 {
			t.Errorf("%s: %s %q, want %s %q", name, text, problems, c.want, c.problem)
		}
	}
}

func TestNotAFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "empty", "hello": "no iCalendar file", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n": "no event",
		"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n": "no iCalendar file", "\x00\xff": "no iCalendar file",
	} {
		if _, err := icalendar.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestWriteKeepsTheRest: what a change does not name stays, also what this program does not know.
func TestWriteKeepsTheRest(t *testing.T) {
	t.Parallel()
	f, err := icalendar.Parse(file("DTSTART;TZID=Europe/Berlin:20260310T080000\nDURATION:PT30M\nX-OTHER;A=b:c\nATTENDEE;CN=Ann:mailto:a@x.example\nLOCATION:here"))
	if err != nil {
		t.Fatal(err)
	}
	summary, none := "new; title, with\\signs", ""
	start := time.Date(2026, 3, 11, 9, 0, 0, 0, berlin)
	data, err := f.Write(time.Now(), icalendar.Change{Summary: &summary, Location: &none, Start: &start})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"X-OTHER;A=b:c", "ATTENDEE;CN=Ann:mailto:a@x.example", "DTSTART;TZID=Europe/Berlin:20260311T090000",
		"DTEND;TZID=Europe/Berlin:20260311T093000"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
	again, err := icalendar.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := again.Main(berlin); err != nil || e.Summary != summary || e.Location != "" || !e.Start.Equal(start) {
		t.Errorf("%+v %v", e, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file("DTSTART;TZID=Europe/Berlin:20260310T080000\nDURATION:PT30M\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20260311T070000Z"))
	f.Add(file("DTSTART;VALUE=DATE:20260310", "RECURRENCE-ID:20260310T000000Z\nDTSTART:20260310T080000Z"))
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := icalendar.Parse(data)
		if err != nil {
			return
		}
		all, _ := file.Events(from, from.AddDate(0, 1, 0), time.UTC)
		for _, e := range all {
			if e.End.Before(e.Start) {
				t.Errorf("%+v ends before it starts", e)
			}
		}
	})
}
