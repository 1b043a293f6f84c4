package calendar_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"callgate/internal/module/calendar"
	"callgate/internal/module/dav/davtest"
	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

var servers davtest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

type block = fetchtest.Block

// person is a user of the real server, and the module with the settings of their account.
type person struct{ *davtest.Person }

func newPerson(t testing.TB, more, constraints block, calendars ...string) *person {
	t.Helper()
	all := map[string]string{"Contacts": "VADDRESSBOOK"}
	for _, name := range calendars {
		all[name] = "VCALENDAR"
	}
	config := block{"zone": "Europe/Berlin"}
	maps.Copy(config, more)
	return &person{servers.NewPerson(t, calendar.Module(), config, constraints, all)}
}

// list returns the events of a range as "start summary".
func (p *person) list(args block) []string {
	p.T.Helper()
	data, _ := p.Must("list_events", args)
	var all []string
	for _, e := range data["events"].([]any) {
		all = append(all, fmt.Sprint(e.(block)["start"], " ", e.(block)["summary"]))
	}
	return all
}

func TestTools(t *testing.T) {
	t.Parallel()
	fetchtest.CheckTools(t, calendar.Module(), "calendar.list_calendars", "calendar.list_events", "calendar.free_busy",
		"calendar.create_event", "calendar.update_event", "calendar.delete_event")
}

func TestGuide(t *testing.T) {
	t.Parallel()
	fetchtest.CheckGuide(t, calendar.Module(), "../../../docs/guides/calendar.md")
}

func TestAnEvent(t *testing.T) {
	t.Parallel()
	ann := newPerson(t, nil, nil, "Work")
	data, _ := ann.Must("list_calendars", block{})
	if list := data["calendars"].([]any); len(list) != 1 || list[0].(block)["name"] != "Work" {
		t.Fatalf("%v", data)
	}
	made, _ := ann.Must("create_event", block{
		"summary": "Zahnarzt, Grüße; \\ ok", "start": "2026-07-01T14:00", "location": "x", "description": "one\ntwo", "reminder_minutes": 30,
	})
	if made["start"] != "2026-07-01T14:00:00+02:00" || made["end"] != "2026-07-01T15:00:00+02:00" || made["etag"] == "" {
		t.Errorf("%v", made)
	}
	day := block{"start": "2026-07-01", "end": "2026-07-01"}
	read, r := ann.Must("list_events", day)
	e := read["events"].([]any)[0].(block)
	if e["summary"] != "Zahnarzt, Grüße; \\ ok" || e["description"] != "one\ntwo" || e["etag"] != made["etag"] || e["id"] != made["id"] {
		t.Errorf("%v", e)
	}
	if !strings.Contains(r.Content[0].Text, "«Zahnarzt") {
		t.Errorf("%s", r.Content[0].Text)
	}
	moved, _ := ann.Must("update_event", block{"id": e["id"], "etag": e["etag"], "start": "2026-07-02T09:30", "location": ""})
	if moved["start"] != "2026-07-02T09:30:00+02:00" || moved["end"] != "2026-07-02T10:30:00+02:00" {
		t.Errorf("%v", moved)
	}
	_, err := ann.Call("update_event", block{"id": e["id"], "etag": e["etag"], "summary": "late"})
	fetchtest.CheckError(t, err, tool.Conflict, "read it again")
	_, err = ann.Call("delete_event", block{"id": e["id"], "etag": e["etag"]})
	fetchtest.CheckError(t, err, tool.Conflict, "changed")
	read, _ = ann.Must("list_events", block{"start": "2026-07-02T00:00", "zone": "America/New_York", "query": "zahnARZT"})
	if e = read["events"].([]any)[0].(block); e["start"] != "2026-07-02T03:30:00-04:00" || e["location"] != nil || e["description"] != "one\ntwo" {
		t.Errorf("%v", e)
	}
	ann.Must("delete_event", block{"id": e["id"], "etag": e["etag"]})
	if left := ann.list(block{"start": "2026-06-01", "end": "2026-08-01"}); len(left) > 0 {
		t.Errorf("%v", left)
	}
	_, err = ann.Call("delete_event", block{"id": e["id"], "etag": e["etag"]})
	fetchtest.CheckError(t, err, tool.NotFound, "nothing at")
}

// TestRecurrence: an event every week keeps its hour when the clocks change, exceptions count,
// and days are days.
func TestRecurrence(t *testing.T) {
	t.Parallel()
	ann := newPerson(t, nil, nil, "Work")
	ann.Must("create_event", block{"summary": "weekly", "start": "2026-03-16T09:00", "recurrence": "FREQ=WEEKLY;COUNT=4"})
	ann.Must("create_event", block{"summary": "fair", "start": "2026-03-20", "end": "2026-03-21"})
	got := strings.Join(ann.list(block{"start": "2026-03-01", "end": "2026-04-30"}), "|")
	want := "2026-03-16T09:00:00+01:00 weekly|2026-03-20 fair|2026-03-23T09:00:00+01:00 weekly|" +
		"2026-03-30T09:00:00+02:00 weekly|2026-04-06T09:00:00+02:00 weekly"
	if got != want {
		t.Errorf("%s", got)
	}
	servers.Get(t).Write(t, ann.Name, "Work", "series.ics", strings.ReplaceAll(`BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//y//EN
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:STANDARD
DTSTART:19701025T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700329T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
UID:series
DTSTAMP:20260101T000000Z
DTSTART;TZID=Europe/Berlin:20260504T100000
DURATION:PT30M
RRULE:FREQ=DAILY;UNTIL=20260508T080000Z
EXDATE;TZID=Europe/Berlin:20260505T100000
SUMMARY:series
END:VEVENT
BEGIN:VEVENT
UID:series
DTSTAMP:20260101T000000Z
RECURRENCE-ID;TZID=Europe/Berlin:20260506T100000
DTSTART:20260506T120000Z
DTEND:20260506T130000Z
SUMMARY:moved
END:VEVENT
END:VCALENDAR
`, "\n", "\r\n"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(servers.Get(t).Log())
		}
	})
	got = strings.Join(ann.list(block{"start": "2026-05-01", "end": "2026-05-31"}), "|")
	want = "2026-05-04T10:00:00+02:00 series|2026-05-06T14:00:00+02:00 moved|2026-05-07T10:00:00+02:00 series|2026-05-08T10:00:00+02:00 series"
	if got != want {
		t.Errorf("%s", got)
	}
}

func TestFreeBusy(t *testing.T) {
	t.Parallel()
	ann := newPerson(t, block{"calendar": "work"}, nil, "Home", "Work")
	for _, e := range [][2]string{{"2026-09-01T09:30", "2026-09-01T10:30"}, {"2026-09-01T10:00", "2026-09-01T12:00"}, {"2026-09-01T16:00", "2026-09-01T18:00"}} {
		ann.Must("create_event", block{"summary": "x", "start": e[0], "end": e[1]})
	}
	data, _ := ann.Must("free_busy", block{"start": "2026-09-01", "end": "2026-09-01", "day_start": "09:00", "day_end": "17:00", "min_minutes": 60})
	if got := fmt.Sprint(data["free"]); got != "[map[end:2026-09-01T16:00:00+02:00 start:2026-09-01T12:00:00+02:00]]" ||
		len(data["busy"].([]any)) != 2 {
		t.Errorf("%v", data)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ann := newPerson(t, nil, block{"calendars": []any{"Home", "Work"}}, "Home", "Work", "Secret")
	bob := newPerson(t, nil, nil, "Work")
	secret := "/" + ann.Name + "/Secret/x.ics"
	servers.Get(t).Write(t, ann.Name, "Secret", "x.ics", "BEGIN:VCALENDAR")
	for name, c := range map[string]struct {
		tool string
		args block
		kind tool.Kind
		text string
	}{
		"which calendar":      {"create_event", block{"summary": "x", "start": "2026-01-01"}, tool.Ambiguous, "Home, Work"},
		"no such calendar":    {"list_events", block{"calendar": "Secret"}, tool.NotFound, "Home, Work"},
		"no time":             {"list_events", block{"start": "tomorrow"}, tool.Invalid, "2026-01-31"},
		"no zone":             {"list_events", block{"zone": "Mars/Base"}, tool.Invalid, "Europe/Paris"},
		"backwards":           {"list_events", block{"start": "2026-02-02", "end": "2026-01-01"}, tool.Invalid, "not after"},
		"a century":           {"list_events", block{"start": "2026-02-02", "end": "2126-01-01"}, tool.Invalid, "five years"},
		"ends before":         {"create_event", block{"summary": "x", "start": "2026-01-01T10:00", "end": "2026-01-01T09:00", "calendar": "Work"}, tool.Invalid, "ends before|end before"},
		"a bad rule":          {"create_event", block{"summary": "x", "start": "2026-01-01", "recurrence": "FREQ=SOMETIMES", "calendar": "Work"}, tool.Invalid, "cannot be read"},
		"too often":           {"create_event", block{"summary": "x", "start": "2026-01-01", "recurrence": "FREQ=SECONDLY", "calendar": "Work"}, tool.Invalid, "daily"},
		"a line":              {"create_event", block{"summary": "x\r\nATTENDEE:mailto:a@b", "start": "2026-01-01", "calendar": "Work"}, tool.Invalid, "one line"},
		"another's":           {"delete_event", block{"id": "/" + bob.Name + "/Work/x.ics", "etag": "x"}, tool.NotFound, "none of the account"},
		"one that is hidden":  {"delete_event", block{"id": secret, "etag": "x"}, tool.NotFound, "none of the account"},
		"up and over":         {"delete_event", block{"id": "/" + ann.Name + "/Work/../Secret/x.ics", "etag": "x"}, tool.NotFound, "none of the account"},
		"escaped":             {"delete_event", block{"id": "/" + ann.Name + "/Work/%2e%2e/Secret/x.ics", "etag": "x"}, tool.NotFound, "none of the account"},
		"another server":      {"delete_event", block{"id": "http://evil.example/x", "etag": "x"}, tool.Denied, "another server"},
		"a whole calendar":    {"delete_event", block{"id": "/" + ann.Name + "/Work/", "etag": "x"}, tool.NotFound, "none of the account"},
		"a day and a time":    {"create_event", block{"summary": "x", "start": "2026-01-01", "end": "2026-01-02T10:00", "calendar": "Work"}, tool.Invalid, "both"},
		"an end and a length": {"create_event", block{"summary": "x", "start": "2026-01-01", "end": "2026-01-02", "duration_minutes": 5, "calendar": "Work"}, tool.Invalid, "one of them"},
	} {
		_, err := ann.Call(c.tool, c.args)
		if tool.KindOf(err) != c.kind || !containsAny(err.Error(), c.text) {
			t.Errorf("%s: %v (%s), want %s %q", name, err, tool.KindOf(err), c.kind, c.text)
		}
	}
	ann.Grant.Credential = "wrong"
	_, err := ann.Call("list_events", block{})
	fetchtest.CheckError(t, err, tool.Denied, "refused the login")
	reader := newPerson(t, nil, block{"read_only": true}, "Work")
	_, err = reader.Call("create_event", block{"summary": "x", "start": "2026-01-01"})
	fetchtest.CheckError(t, err, tool.Denied, "read_only")
}

func containsAny(text, parts string) bool {
	for part := range strings.SplitSeq(parts, "|") {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
