// Package alert calls a user who looks elsewhere: with the terminal's bell and a
// notification of the desktop.
//
// # Law
//
// Nobody is called who is there: the terminal says whether it has the focus, and
// where it never says so, a key that was pressed shortly before counts. The text is
// the chat's own, never one of a model or a tool.
package alert

import (
	"strings"
	"time"
)

// Mode is how a user is called.
type Mode string

// The modes.
const (
	Off     Mode = "off"
	Bell    Mode = "bell"    // the bell only
	Desktop Mode = "desktop" // the bell, and a notification where the terminal can show one
)

// ParseMode reads a mode, as the environment or a command has it; "" is Desktop.
func ParseMode(text string) (Mode, bool) {
	switch m := Mode(strings.ToLower(strings.TrimSpace(text))); m {
	case "", "on":
		return Desktop, true
	case Off, Bell, Desktop:
		return m, true
	}
	return Desktop, false
}

// awayAfter is how long no key must have been pressed at a terminal that does not
// report its focus.
const awayAfter = 10 * time.Second

// Watch knows whether the user is there. The zero value has seen nothing.
type Watch struct {
	Mode    Mode
	reports bool // the terminal reports its focus
	focused bool
	lastKey time.Time
}

// Focus takes what the terminal reports.
func (w *Watch) Focus(has bool) { w.reports, w.focused = true, has }

// Key takes that a key was pressed.
func (w *Watch) Key(at time.Time) { w.lastKey = at }

// away reports whether the user does not look.
func (w *Watch) away(now time.Time) bool {
	if w.reports {
		return !w.focused
	}
	return now.Sub(w.lastKey) >= awayAfter
}

// Call returns what is written to the terminal to call the user; "": nothing, for
// they are there or do not want it.
func (w *Watch) Call(now time.Time, text string) string {
	if w.Mode == Off || !w.away(now) {
		return ""
	}
	if w.Mode == Bell {
		return "\a"
	}
	return notification(text) + "\a"
}

// notification asks the terminal for a notification in the two ways that are
// common: OSC 9, and OSC 777. A terminal that knows neither shows nothing.
func notification(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == ';' {
			return ' '
		}
		return r
	}, text)
	return "\x1b]9;" + text + "\x1b\\" + "\x1b]777;notify;callgate;" + text + "\x1b\\"
}
