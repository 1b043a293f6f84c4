package schedule_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/schedule"
	"callgate/tool"
)

// now is a Monday.
var now = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func TestOnce(t *testing.T) {
	for _, c := range []struct{ when, zone, want string }{
		{"in 1s", "", "2026-11-16T12:00:01Z"},
		{"in 90 s", "", "2026-11-16T12:01:30Z"},
		{"in 5m", "", "2026-11-16T12:05:00Z"},
		{"in 5 minutes", "", "2026-11-16T12:05:00Z"},
		{"  In   5 Mins ", "", "2026-11-16T12:05:00Z"},
		{"in 2h", "Europe/Berlin", "2026-11-16T14:00:00Z"},
		{"in 1 day", "", "2026-11-17T12:00:00Z"},
		{"in a week", "", "2026-11-23T12:00:00Z"},
		{"in an hour", "", "2026-11-16T13:00:00Z"},
		{"in 1h30m", "", "2026-11-16T13:30:00Z"},
		{"in 1 hour and 30 minutes", "", "2026-11-16T13:30:00Z"},
		{"in 1d, 2h", "", "2026-11-17T14:00:00Z"},
		{"in 3650d", "", "2036-11-13T12:00:00Z"},

		{"2026-11-17T09:00:00Z", "", "2026-11-17T09:00:00Z"},
		{"2026-11-17T09:00Z", "", "2026-11-17T09:00:00Z"},
		{"2026-11-17T09:00:00.5Z", "", "2026-11-17T09:00:00.5Z"},
		{"2026-11-17t09:00z", "", "2026-11-17T09:00:00Z"},
		{"2026-11-17 09:00", "", "2026-11-17T09:00:00Z"},
		{"2026-11-17T09:00:00+02:00", "America/New_York", "2026-11-17T07:00:00Z"},
		{"2026-11-17T09:00:00+0200", "", "2026-11-17T07:00:00Z"},
		{"2026-11-17T09:00+02", "", "2026-11-17T07:00:00Z"},
		{"2026-11-17T09:00", "", "2026-11-17T09:00:00Z"},
		{"2026-11-17T09:00:30", "Europe/Berlin", "2026-11-17T08:00:30Z"},
		{"2026-11-16T11:59:55Z", "", "2026-11-16T12:00:00Z"}, // just past: now
		{"2036-11-16T12:00:00Z", "", "2036-11-16T12:00:00Z"},
		{"2028-02-29T12:00", "", "2028-02-29T12:00:00Z"},
		// The night of 28 March 2027 has no half past two; that of 31 October has two.
		{"2027-03-28T02:30", "Europe/Berlin", "2027-03-28T01:00:00Z"},
		{"2027-10-31T02:30", "Europe/Berlin", "2027-10-31T00:30:00Z"},
		{"2027-10-03T02:15", "Australia/Lord_Howe", "2027-10-02T15:30:00Z"},
		{"2027-04-04T01:45", "Australia/Lord_Howe", "2027-04-03T14:45:00Z"},
	} {
		p, err := schedule.Parse(c.when, schedule.Options{Now: now, Zone: zoneOf(t, c.zone)})
		if err != nil {
			t.Errorf("%q: %v", c.when, err)
			continue
		}
		if !p.Once() || p.At().Format(time.RFC3339Nano) != c.want || p.String() != c.want {
			t.Errorf("%q in %q is %s, want %s", c.when, c.zone, p, c.want)
		}
		if next, ok := p.Next(now.Add(-time.Hour)); !ok || !next.Equal(p.At()) {
			t.Errorf("%q: next is %s, %v", c.when, next, ok)
		}
		if _, ok := p.Next(p.At()); ok {
			t.Errorf("%q happens again", c.when)
		}
	}
}

func TestAgain(t *testing.T) {
	for _, c := range []struct{ when, zone, from, want string }{
		{"*/5 * * * *", "", "", "2026-11-16T12:05:00Z"},
		{"0 9 * * 1-5", "", "", "2026-11-17T09:00:00Z"},
		{"0 9 * * MON", "", "", "2026-11-23T09:00:00Z"},
		{"0 9 * * tuesday", "", "", "2026-11-17T09:00:00Z"},
		{"0 9 * * fri-sun", "", "", "2026-11-20T09:00:00Z"},
		{"0 9 * * 7", "", "", "2026-11-22T09:00:00Z"},
		{"0 9 * * 0", "", "", "2026-11-22T09:00:00Z"},
		{"0 9 * * */2", "", "", "2026-11-17T09:00:00Z"}, // Sunday, Tuesday, Thursday, Saturday
		{"0 9 1 jan,JUL *", "", "", "2027-01-01T09:00:00Z"},
		{"5/20 * * * *", "", "", "2026-11-16T12:05:00Z"},
		{"5/20 * * * *", "", "2026-11-16T12:45:00Z", "2026-11-16T13:05:00Z"},
		{"10-30/10 8-10,12 * * *", "", "", "2026-11-16T12:10:00Z"},
		{"0 0 13 * 5", "", "", "2026-11-20T00:00:00Z"},  // the 13th, or a Friday
		{"0 0 */2 * 5", "", "", "2026-11-27T00:00:00Z"}, // an odd day that is a Friday
		{"0 0 31 * *", "", "", "2026-12-31T00:00:00Z"},  // not in November
		{"0 0 29 2 *", "", "", "2028-02-29T00:00:00Z"},  // leap days
		{"0 0 29 2 *", "", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 12 29 2 *", "America/New_York", "", "2028-02-29T17:00:00Z"},
		{"59 23 31 12 *", "", "", "2026-12-31T23:59:00Z"},
		{"0 9 * * *", "Europe/Berlin", "", "2026-11-17T08:00:00Z"},
		{"0 9 * * *", "Asia/Tokyo", "", "2026-11-17T00:00:00Z"},
		{"@hourly", "", "", "2026-11-16T13:00:00Z"},
		{"@hourly", "Asia/Kathmandu", "", "2026-11-16T12:15:00Z"},
		{"@daily", "", "", "2026-11-17T00:00:00Z"},
		{"@midnight", "", "", "2026-11-17T00:00:00Z"},
		{"@Weekly", "", "", "2026-11-22T00:00:00Z"},
		{"@monthly", "", "", "2026-12-01T00:00:00Z"},
		{"@yearly", "", "", "2027-01-01T00:00:00Z"},
		{"@annually", "Europe/Berlin", "", "2026-12-31T23:00:00Z"},
		// The nights of change, as the head of the package tells them.
		{"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z", "2027-03-28T01:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"},
		{"0,30 2 * * *", "Europe/Berlin", "2027-03-28T01:00:00Z", "2027-03-29T00:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z", "2027-10-31T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"},
		{"30 * * * *", "Europe/Berlin", "2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"},
		{"30 * * * *", "Europe/Berlin", "2027-03-28T00:30:00Z", "2027-03-28T01:30:00Z"},
		{"0 9 30 12 *", "Pacific/Apia", "2011-12-29T20:00:00Z", "2011-12-30T10:00:00Z"}, // a day that was not
	} {
		from := now
		if c.from != "" {
			from = at(t, c.from)
		}
		p, err := schedule.Parse(c.when, schedule.Options{Now: from, Zone: zoneOf(t, c.zone)})
		if err != nil {
			t.Errorf("%q: %v", c.when, err)
			continue
		}
		if next, ok := p.Next(from); p.Once() || !ok || !next.Equal(at(t, c.want)) {
			t.Errorf("%q in %q after %s is %s, want %s", c.when, c.zone, from, next.UTC(), c.want)
		}
	}
}

// Every error says what is wrong, and what to write.
func TestRefused(t *testing.T) {
	for when, want := range map[string]string{
		"":                            `when is empty (write "in 30m"`,
		"   ":                         "when is empty",
		strings.Repeat("1", 201):      "when has 201 bytes, and at most 200 are read",
		"in 0s":                       `no time from now (the shortest is "in 1s")`,
		"in":                          "no length of time is given",
		"in 5":                        "a number has no unit",
		"in five minutes":             "no number begins at",
		"in 5 M":                      "M may be minutes or months (write m for minutes)",
		"in 2 months":                 "months and years have no one length (count in days",
		"in 5 fortnights":             `"fortnights" is no unit of time`,
		"in 1.5h":                     `only whole numbers are read (write "in 90m"`,
		"in 5m 1h":                    "not in order",
		"in 11 days 4000 d":           "not in order, or one is there twice",
		"in -5m":                      "no number begins at",
		"in 4000d":                    "more than 10 years away (the latest is 2036-11-16T12:00:00Z)",
		"in 99999999999999999999999s": "more than 10 years away",
		"5m":                          `write "in 5m"`,
		"30 seconds":                  `write "in 30 seconds"`,
		"now":                         `write "in 1s"`,
		"tomorrow at 9":               `(write "in 30m", a time such as 2026-11-17T12:00:00Z, or cron such as "0 9 * * 1-5")`,
		"every 5 minutes":             `write "*/5 * * * *"`,
		"every minute":                `write "*/1 * * * *"`,
		"every 2 hours":               `write "0 */2 * * *"`,
		"every day":                   `write "@daily"`,
		"every 7 minutes":             "no line of cron is that",
		"every so often":              "say how often in cron",

		"2026-11-16T11:59:54Z":          "which is past: it is 2026-11-16T12:00:00Z now",
		"2036-11-16T12:00:01Z":          "more than 10 years away",
		"2026-11-17":                    "has no time (write the date and the time with a T between them, as in 2026-11-17T09:00)",
		"2026-13-17T09:00":              "month out of range",
		"2027-02-29T09:00":              "day out of range",
		"2026-11-17T25:00":              "hour out of range",
		"2026-11-17T24:00":              "hour out of range",
		"2026-11-17T09":                 "no date with a time",
		"2026-11-17T09:00[Europe/Rome]": "give the time zone in timezone",
		"2026-W47-1":                    "which has no time",

		"* * * *":                         "it has 4 fields, and cron has 5 here (they are minute, hour",
		"0 0 9 * * 1":                     `it has 6 fields, and cron has 5 here (seconds and years are not taken`,
		"0 0 9 * * 1 2027":                `write "0 9 * * 1"`,
		"60 * * * *":                      `in its minute, "60", 60 is out of bounds (it takes 0 to 59)`,
		"0 24 * * *":                      "24 is out of bounds (it takes 0 to 23)",
		"0 0 0 * *":                       "0 is out of bounds (it takes 1 to 31)",
		"0 0 1 13 *":                      "in its month",
		"0 0 * * 8":                       `8 is out of bounds (it takes 0 to 7 and names, such as sun)`,
		"0 0 * * mond":                    `"mond" is no number`,
		"0 0 L * *":                       "L, W and # are of other crons",
		"0 0 ? * 1":                       "? is not taken (write * for any)",
		"*/0 * * * *":                     "the step 0 is not between 1 and 60",
		"*/90 * * * *":                    "the step 90 is not between 1 and 60 (steps begin anew",
		"*/x * * * *":                     "the step",
		"*/ * * * *":                      "the step",
		"5- * * * *":                      "a number is missing",
		"1,,2 * * * *":                    "a number is missing",
		"+5 * * * *":                      "is no number",
		"0 +5 * * *":                      "is no number",
		"0 22-2 * * *":                    "the range 22-2 goes backwards (write it as two ranges: 22-23,0-2)",
		"0 0 31 2 *":                      "which never comes",
		"0 0 30 feb *":                    "which never comes",
		"CRON_TZ=Europe/Berlin 0 9 * * *": "give the time zone in timezone",
		"@every 5m":                       `write "*/5 * * * *"`,
		"@every 1h":                       `write "@hourly"`,
		"@every 6h":                       `write "0 */6 * * *"`,
		"@every 30s":                      "nothing here happens more than once a minute",
		"@every 90m":                      "no line of cron is that",
		"@every":                          "say how often in cron",
		"@reboot":                         "nothing is scheduled for the start",
		"@fortnightly":                    "the names are @hourly, @daily",
	} {
		_, err := schedule.Parse(when, schedule.Options{Now: now})
		if err == nil || !strings.Contains(err.Error(), want) || tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q:\n\t%v\n\twant %s", when, err, want)
		}
	}
}

// What comes after more than ten years is refused, however it is written.
func TestFarAway(t *testing.T) {
	const when = "0 0 29 2 */7" // a leap day that is a Sunday: 2032, then 2060
	if p, err := schedule.Parse(when, schedule.Options{Now: now}); err != nil {
		t.Error(err)
	} else if next, ok := p.Next(at(t, "2032-03-01T00:00:00Z")); !ok || !next.Equal(at(t, "2060-02-29T00:00:00Z")) {
		t.Errorf("after 2032 it is %s, %v", next, ok)
	}
	_, err := schedule.Parse(when, schedule.Options{Now: at(t, "2033-01-01T00:00:00Z")})
	if err == nil || !strings.Contains(err.Error(), "does not come before 2060-02-29T00:00:00Z, more than 10 years") {
		t.Error(err)
	}
}

func TestZone(t *testing.T) {
	for name, want := range map[string]string{
		"": "UTC", "UTC": "UTC", "utc": "UTC", "Z": "UTC", "Europe/Berlin": "Europe/Berlin", "europe/berlin": "Europe/Berlin",
		"america/new york": "America/New_York", "CET": "CET", "Etc/GMT-2": "Etc/GMT-2",
	} {
		if zone, err := schedule.Zone(name); err != nil || zone.String() != want {
			t.Errorf("%q is %v, %v", name, zone, err)
		}
	}
	for name, want := range map[string]string{
		"Local": "such as Europe/Berlin", "+02:00": "an offset can stand in a time", "Mars/Olympus": "no time zone",
		"../etc/passwd": "no time zone", "Europe": "no time zone", "\x00": "no time zone",
	} {
		if _, err := schedule.Zone(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}

// FuzzParse holds what is true of every text: nothing panics, an error can be acted
// on, and a plan says when it happens and can be read again.
func FuzzParse(f *testing.F) {
	for _, text := range oracleLines {
		f.Add(text, "Europe/Berlin")
	}
	for _, text := range []string{"in 5m", "in 1h30m", "2027-03-28T02:30", "@daily", "@every 5m", "every 5 m", "in a week"} {
		f.Add(text, "Australia/Lord_Howe")
	}
	f.Fuzz(func(t *testing.T, when, name string) {
		zone, err := schedule.Zone(name)
		if err != nil {
			zone = time.UTC
		}
		o := schedule.Options{Now: now, Zone: zone}
		p, err := schedule.Parse(when, o)
		if err != nil {
			var e *tool.Error
			if e, _ = err.(*tool.Error); e == nil || e.Kind != tool.Invalid || e.Hint == "" {
				t.Fatalf("%q: %#v", when, err)
			}
			return
		}
		next, ok := p.Next(now.Add(-time.Nanosecond))
		if !ok || next.Before(now) || next.After(now.AddDate(10, 0, 0)) {
			t.Fatalf("%q happens at %s, %v", when, next, ok)
		}
		again, err := schedule.Parse(p.String(), o)
		if err != nil || again.String() != p.String() || again.Once() != p.Once() {
			t.Fatalf("%q is %s, which is read as %s: %v", when, p, again, err)
		}
		if second, ok := p.Next(next); ok && (p.Once() || !second.After(next) || second.Unix()%60 != 0 && zoneIsOfMinutes(second)) {
			t.Fatalf("%q happens at %s and then at %s", when, next, second)
		}
	})
}

func zoneIsOfMinutes(t time.Time) bool {
	_, offset := t.Zone()
	return offset%60 == 0
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
