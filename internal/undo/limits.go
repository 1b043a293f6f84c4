package undo

import (
	"strconv"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/tool"
)

// Limits bounds what is kept. Zero fields mean the defaults.
type Limits struct {
	File    int64         // bytes of one file; default 10 MiB
	Call    int64         // bytes of all files of a call; default 100 MiB
	Files   int           // files of a call, in the folders that it changes; default 5,000
	Session int64         // bytes of a session or a conversation; default 256 MiB
	User    int64         // bytes of a user, where several have some; default half of Total
	Total   int64         // bytes in all; default 512 MiB
	Age     time.Duration // default 7 days
	Off     bool          // nothing is kept
}

func (l Limits) withDefaults() Limits {
	const mib = 1 << 20
	for _, n := range []struct {
		field    *int64
		standard int64
	}{{&l.File, 10 * mib}, {&l.Call, 100 * mib}, {&l.Session, 256 * mib}, {&l.Total, 512 * mib}} {
		if *n.field == 0 {
			*n.field = n.standard
		}
	}
	if l.User == 0 {
		l.User = l.Total / 2
	}
	if l.Files == 0 {
		l.Files = 5000
	}
	if l.Age == 0 {
		l.Age = 7 * 24 * time.Hour
	}
	return l
}

// ParseLimits reads limits as a person writes them: "off", or
// "file=10MB call=100MB files=5000 session=256MB user=256MB total=512MB age=7d", any of
// them, apart by blanks or commas.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		var err error
		switch {
		case word == "off" && len(words) == 1:
			l.Off = true
			continue
		case !ok:
			err = limitError(word, "each is a NAME=VALUE, or all is off")
		case name == "file":
			l.File, err = parseSize(value)
		case name == "call":
			l.Call, err = parseSize(value)
		case name == "session":
			l.Session, err = parseSize(value)
		case name == "user":
			l.User, err = parseSize(value)
		case name == "total":
			l.Total, err = parseSize(value)
		case name == "files":
			l.Files, err = parseCount(value)
		case name == "age":
			l.Age, err = parseAge(value)
		default:
			err = limitError(word, "the names are file, call, files, session, user, total and age")
		}
		if err != nil {
			return Limits{}, err
		}
	}
	return l, nil
}

func limitError(word, hint string) error {
	const text = "%q is no limit of what is kept for an undo"
	return tool.Errorf("undo.ParseLimits", tool.Invalid, text, tool.Truncate(word)).WithHint("%s", hint)
}

// parseSize reads a number of bytes: 500, 10KB, 10MB, 1GB.
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(strings.ToUpper(text), "KMGIB")
	factor, ok := map[string]int64{
		"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "MIB": 1 << 20,
		"G": 1 << 30, "GB": 1 << 30, "GIB": 1 << 30,
	}[strings.ToUpper(text)[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 || n > (1<<50)/factor {
		return 0, limitError(text, "write a size like 500KB, 10MB or 1GB")
	}
	return n * factor, nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, limitError(text, "write a number of files from 1 to 1000000")
	}
	return n, nil
}

// parseAge reads a time: 12h, 7d, 2w.
func parseAge(text string) (time.Duration, error) {
	age, ok := amount.ParseSpan(text)
	if !ok || age <= 0 {
		return 0, limitError(text, "write an age like 12h, 7d or 2w")
	}
	return age, nil
}
