package icalendar

import (
	"fmt"
	"strings"
	"time"

	"github.com/emersion/go-ical"
)

// windows are the zones that Microsoft's programs name in their own words.
var windows = map[string]string{
	"W. Europe Standard Time": "Europe/Berlin", "Central European Standard Time": "Europe/Warsaw",
	"Romance Standard Time": "Europe/Paris", "Central Europe Standard Time": "Europe/Budapest",
	"GMT Standard Time": "Europe/London", "Greenwich Standard Time": "Atlantic/Reykjavik", "FLE Standard Time": "Europe/Kiev",
	"GTB Standard Time": "Europe/Bucharest", "E. Europe Standard Time": "Europe/Chisinau", "Russian Standard Time": "Europe/Moscow",
	"Turkey Standard Time": "Europe/Istanbul", "Israel Standard Time": "Asia/Jerusalem", "Arabian Standard Time": "Asia/Dubai",
	"India Standard Time": "Asia/Kolkata", "SE Asia Standard Time": "Asia/Bangkok", "China Standard Time": "Asia/Shanghai",
	"Singapore Standard Time": "Asia/Singapore", "Tokyo Standard Time": "Asia/Tokyo", "Korea Standard Time": "Asia/Seoul",
	"AUS Eastern Standard Time": "Australia/Sydney", "New Zealand Standard Time": "Pacific/Auckland",
	"Eastern Standard Time": "America/New_York", "Central Standard Time": "America/Chicago",
	"Mountain Standard Time": "America/Denver", "US Mountain Standard Time": "America/Phoenix",
	"Pacific Standard Time": "America/Los_Angeles", "Alaskan Standard Time": "America/Anchorage",
	"Hawaiian Standard Time": "Pacific/Honolulu", "Atlantic Standard Time": "America/Halifax",
	"E. South America Standard Time": "America/Sao_Paulo", "Argentina Standard Time": "America/Buenos_Aires",
	"South Africa Standard Time": "Africa/Johannesburg", "Egypt Standard Time": "Africa/Cairo",
}

// Zone finds a time zone by the name that a file gives it: one of the tz database, also behind
// a prefix such as /mozilla.org/20050126_1/, or one of Microsoft's.
func Zone(name string) (*time.Location, error) {
	if known, ok := windows[name]; ok {
		name = known
	}
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for n := min(len(parts), 3); n > 0; n-- {
		tail := strings.Join(parts[len(parts)-n:], "/")
		if tail == "" || tail == "Local" {
			continue
		}
		if zone, err := time.LoadLocation(tail); err == nil && (n > 1 || len(parts) == 1) {
			return zone, nil
		}
	}
	return nil, fmt.Errorf("the time zone %q is not known", name)
}

func isDay(p *ical.Prop) bool {
	return p.ValueType() == ical.ValueDate || len(p.Value) == len("20060102")
}

// timeOf reads a time or a day.
func timeOf(p *ical.Prop, local *time.Location) (time.Time, error) {
	value := strings.TrimSpace(p.Value)
	zone := local
	if name := p.Params.Get(ical.PropTimezoneID); name != "" && !isDay(p) && !strings.HasSuffix(value, "Z") {
		var err error
		if zone, err = Zone(name); err != nil {
			return time.Time{}, err
		}
	}
	for _, form := range []string{"20060102T150405Z", "20060102T150405", "20060102"} {
		if len(value) == len(form) {
			if strings.HasSuffix(form, "Z") {
				zone = time.UTC
			}
			if t, err := time.ParseInLocation(form, value, zone); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time", value)
}
