package schedule

import (
	"math"
	"strings"
	"time"

	"callgate/tool"
)

// looksLikeDate reports whether a text begins as a date does: four digits and a
// hyphen.
func looksLikeDate(text string) bool {
	return len(text) > 4 && text[4] == '-' && strings.Trim(text[:4], "0123456789") == ""
}

// The forms of a date, with the offsets that they may have.
var (
	dateForms   = []string{"2006-01-02T15:04:05", "2006-01-02T15:04"}
	offsetForms = []string{"Z07:00", "Z0700", "Z07"}
)

// date reads a date with a time. Fractions of a second are read behind any second.
func (o Options) date(text string) (Plan, error) {
	iso := text
	if len(iso) > 10 && (iso[10] == ' ' || iso[10] == 't') {
		iso = iso[:10] + "T" + iso[11:]
	}
	if n := len(iso); iso[n-1] == 'z' {
		iso = iso[:n-1] + "Z"
	}
	var cause string // such as day out of range
	for _, form := range dateForms {
		at, err := time.Parse(form, iso)
		if err == nil {
			return o.once(text, o.first(at))
		}
		if p, ok := err.(*time.ParseError); ok && strings.Contains(p.Message, "out of range") {
			cause = strings.TrimPrefix(p.Message, ": ")
		}
		for _, offset := range offsetForms {
			if at, err := time.Parse(form+offset, iso); err == nil {
				return o.once(text, at)
			}
		}
	}
	return Plan{}, o.badDate(text, iso, cause)
}

// first returns the first instant at which a clock that never goes back shows a
// time or a later one.
func (o Options) first(shown time.Time) time.Time {
	return time.Unix(reach(shown.Unix(), math.MinInt64, o.Zone), int64(shown.Nanosecond()))
}

// badDate says what is wrong with a date.
func (o Options) badDate(text, iso, cause string) error {
	e := tool.Errorf(op, tool.Invalid, "when is %q, which is no date with a time", text)
	switch {
	case len(iso) == len("2006-01-02"):
		e.Message = "when is " + quote(text) + ", which has no time"
		return e.WithHint("write the date and the time with a T between them, as in %sT09:00", iso)
	case strings.Contains(iso, "["):
		return e.WithHint("give the time zone in timezone, and only the date and the time in when")
	case cause != "":
		e.Message += ": " + cause
	}
	return e.WithHint("write it as in %s, or without Z for the time zone of the schedule",
		o.Now.UTC().AddDate(0, 0, 1).Truncate(time.Hour).Format(time.RFC3339))
}

// Zone returns a time zone by its name in the IANA database; "" is UTC.
func Zone(name string) (*time.Location, error) {
	name = strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	if name == "" || strings.EqualFold(name, "utc") || name == "Z" {
		return time.UTC, nil
	}
	if isZoneName(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
		if zone, err := time.LoadLocation(properCase(name)); err == nil {
			return zone, nil
		}
	}
	e := tool.Errorf(op, tool.Invalid, "there is no time zone %q", tool.Truncate(name))
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return nil, e.WithHint("name a place, as in Europe/Berlin; an offset can stand in a time: 2027-01-31T09:00+02:00")
	}
	return nil, e.WithHint("name a place as the IANA database does, such as Europe/Berlin or America/New_York, or UTC")
}

// isZoneName reports whether a text can be a name of the database, and is not that
// of the machine's own zone, which is another on the next machine.
func isZoneName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return len(name) <= 64 && strings.Trim(name, letters+"0123456789_+/-") == "" &&
		strings.Contains(letters, name[:1]) && !strings.EqualFold(name, "local")
}

// properCase writes europe/berlin as Europe/Berlin.
func properCase(name string) string {
	letters := []byte(strings.ToLower(name))
	for i := range letters {
		if (i == 0 || letters[i-1] == '/' || letters[i-1] == '_') && letters[i] >= 'a' && letters[i] <= 'z' {
			letters[i] -= 'a' - 'A'
		}
	}
	return string(letters)
}
