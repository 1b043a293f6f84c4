package schedule_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/internal/schedule"
)

// The oracle knows the law and nothing of how it is kept: it looks at a wall, minute
// by minute.

// shown is what a wall shows at one minute.
type shown struct {
	at                                time.Time
	minute, hour, day, month, weekday int
	wall                              int64 // minutes, as if the wall were in UTC
}

// look is what the wall of a zone shows, minute by minute.
func look(from, to time.Time, zone *time.Location) []shown {
	var all []shown
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		t := at.In(zone)
		_, offset := t.Zone()
		all = append(all, show(at, (at.Unix()+int64(offset))/60))
	}
	return all
}

// show is a minute of a wall, taken apart.
func show(at time.Time, wall int64) shown {
	w := time.Unix(wall*60, 0).UTC()
	return shown{at, w.Minute(), w.Hour(), w.Day(), int(w.Month()), int(w.Weekday()), wall}
}

// naive is a line of cron, each field as the numbers that it names.
type naive struct {
	fields [5][64]bool
	stars  [5]bool
}

func readNaive(text string) naive {
	var n naive
	bounds := [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}
	names := strings.NewReplacer("mar", "3", "apr", "4", "oct", "10", "sun", "0", "mon", "1", "fri", "5", "sat", "6")
	for i, field := range strings.Fields(names.Replace(text)) {
		n.stars[i] = field[0] == '*'
		for _, part := range strings.Split(field, ",") {
			span, step, _ := strings.Cut(part, "/")
			by, _ := strconv.Atoi(step)
			low, high := bounds[i][0], bounds[i][1]
			if span != "*" {
				a, b, ranged := strings.Cut(span, "-")
				low, _ = strconv.Atoi(a)
				if ranged {
					high, _ = strconv.Atoi(b)
				} else {
					high = low
				}
			}
			for v := low; v <= high; v += max(by, 1) {
				if i == 4 {
					n.fields[i][v%7] = true
				} else {
					n.fields[i][v] = true
				}
			}
		}
	}
	return n
}

func (n *naive) matches(s shown) bool {
	day, weekday := n.fields[2][s.day], n.fields[4][s.weekday]
	days := day || weekday
	if n.stars[2] || n.stars[4] {
		days = day && weekday
	}
	return days && n.fields[0][s.minute] && n.fields[1][s.hour] && n.fields[3][s.month]
}

// times are the instants at which a line happens, by the law.
func (n *naive) times(wall []shown) []time.Time {
	var times []time.Time
	if !slices.Contains(n.fields[1][:24], false) { // every hour: whatever the wall shows
		for _, s := range wall {
			if n.matches(s) {
				times = append(times, s.at)
			}
		}
		return times
	}
	latest := wall[0].wall - 1
	for _, s := range wall {
		happens := false
		for latest < s.wall { // also what the wall has skipped
			latest++
			happens = n.matches(show(s.at, latest)) || happens
		}
		if happens {
			times = append(times, s.at)
		}
	}
	return times
}

var oracleLines = []string{
	"*/7 * * * *", "0 * * * *", "30 * * * *", "15,45 * * * *", "59 * * * *", "*/10 0-23 * * *",
	"0 0 * * *", "1 0 * * *", "30 0 * * *", "59 23 * * *", "30 23 * * *", "0 1 * * *", "30 1 * * *", "45 1 * * *",
	"0 2 * * *", "1 2 * * *", "15 2 * * *", "30 2 * * *", "59 2 * * *", "0 3 * * *", "30 3 * * *", "0 9 * * *",
	"*/20 2 * * *", "* 2 * * *", "*/10 1-3 * * *", "0 */2 * * *", "0 1-23/2 * * *", "30 */3 * * *", "0 0,12 * * *",
	"15 2 * * 0", "15 2 * * 7", "15 2 * * sun", "0 2 * * 5-7", "0 0 * * 1-5", "30 1 1 * *", "0 2 29 2 *", "0 12 30 12 *",
	"0 9 30 * 5", "*/30 */6 * * 0,6", "* * 29 2 *", "0 2 */2 * *", "0 2 */2 * 0", "5 0 1 1 *", "0 2 31 oct *",
	"0 2 * mar,oct,apr 0", "*/15 22-23 * * *", "*/15 0,23 * * *",
}

func zones() []string {
	return []string{
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns",
		"America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Cairo", "America/Santiago", "Pacific/Kwajalein",
		"Asia/Gaza", "Europe/Dublin", "Antarctica/Troll", "Asia/Pyongyang", "America/Caracas", "America/Nuuk",
		"Pacific/Kiritimati", "Europe/Moscow", "Asia/Kathmandu", "America/Scoresbysund",
	}
}

// changes are the instants at which a zone changes its offset.
func changes(zone *time.Location, from, to time.Time) []time.Time {
	var all []time.Time
	for at := from.In(zone); ; {
		_, end := at.ZoneBounds()
		if end.IsZero() || end.After(to) {
			return all
		}
		_, before := end.Add(-time.Second).Zone()
		_, after := end.Zone()
		if before != after {
			all = append(all, end)
		}
		at = end
	}
}

// Every line happens when the law says, on every night on which a clock changes.
func TestNightsOfChange(t *testing.T) {
	from, to := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)
	nights, compared := 0, 0
	for _, name := range zones() {
		zone := zoneOf(t, name)
		seen := map[string]int{}
		for _, change := range changes(zone, from, to) {
			_, before := change.Add(-time.Second).In(zone).Zone()
			_, after := change.In(zone).Zone()
			how := strconv.Itoa(after-before) + change.In(zone).Format(" 15:04")
			if seen[how]++; seen[how] > 2 {
				continue // many nights are as another one
			}
			nights++
			start := change.Truncate(time.Minute).Add(-28 * time.Hour)
			wall := look(start, start.Add(58*time.Hour), zone)
			for _, text := range oracleLines {
				compared += compare(t, text, zone, wall)
			}
		}
	}
	if nights < 120 || compared < 100_000 {
		t.Fatalf("%d nights, %d times compared: the test looks at too little", nights, compared)
	}
	t.Logf("%d nights, %d times compared", nights, compared)
}

// compare compares a plan with the oracle over what a wall shows, and returns at how
// many times they met. The first day gives the oracle its past.
func compare(t *testing.T, text string, zone *time.Location, wall []shown) int {
	t.Helper()
	n := readNaive(text)
	from := wall[0].at.Add(26 * time.Hour)
	want := slices.DeleteFunc(n.times(wall), func(at time.Time) bool { return !at.After(from) })
	// The line is read at a time at which no date of it is far away.
	p, err := schedule.Parse(text, schedule.Options{Now: from, Zone: zone})
	if err != nil {
		t.Fatalf("%s in %s: %v", text, zone, err)
	}
	at, met := from, 0
	for _, w := range want {
		next, ok := p.Next(at)
		if !ok || !next.Equal(w) {
			t.Errorf("%s in %s after %s: %s, want %s", text, zone, at.In(zone), next, w.In(zone))
			return met
		}
		at, met = next, met+1
	}
	if next, ok := p.Next(at); ok && next.Before(wall[len(wall)-1].at) {
		t.Errorf("%s in %s after %s: %s, and the law has none", text, zone, at.In(zone), next)
	}
	return met
}

// A question asked at any minute of such a night has the answer of the oracle.
func TestEveryMinuteOfANight(t *testing.T) {
	for name, night := range map[string]time.Time{
		"Europe/Berlin":       time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC),
		"Australia/Lord_Howe": time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC),
		"America/St_Johns":    time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), // 00:01 to 23:01 of the day before
		"Pacific/Apia":        time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC),
	} {
		zone := zoneOf(t, name)
		start := night.Add(-40 * time.Hour)
		wall := look(start, start.Add(80*time.Hour), zone)
		for _, text := range oracleLines {
			n := readNaive(text)
			want := n.times(wall)
			p, err := schedule.Parse(text, schedule.Options{Now: start, Zone: zone})
			if err != nil {
				t.Fatal(err)
			}
			for i := 27 * 60; i < len(wall); i++ {
				for len(want) > 0 && !want[0].After(wall[i].at) {
					want = want[1:]
				}
				if len(want) == 0 {
					break
				}
				if next, _ := p.Next(wall[i].at.Add(999 * time.Millisecond)); !next.Equal(want[0]) {
					t.Fatalf("%s in %s after %s: %s, want %s", text, name, wall[i].at.In(zone), next, want[0].In(zone))
				}
			}
		}
	}
}

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := schedule.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
