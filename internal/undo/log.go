package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
)

// A log has a line for the beginning of a call, and one for its end; between them, the
// line of a call that undid others. A line that a killed process left in half is passed
// over.

// line is a line of a log: one of them.
type line struct {
	Begun *Entry     `json:"begun,omitempty"`
	Undid *undidLine `json:"undid,omitempty"`
	Ended *endLine   `json:"ended,omitempty"`
}

// undidLine says that a call took back the changes of others.
type undidLine struct {
	Call  string   `json:"call"`
	Calls []string `json:"calls"`
}

// endLine is how a call left its files. A path that is not listed is as it was before.
type endLine struct {
	Call    string    `json:"call"`
	At      time.Time `json:"at"`
	Files   []Change  `json:"files,omitempty"`
	NotKept []NotKept `json:"not_kept,omitempty"`
}

// encode writes a line. It begins with a line end, so that half a line before it costs
// nothing more.
func (l line) encode() ([]byte, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append(append([]byte{'\n'}, data...), '\n'), nil
}

// parseLog reads a log. What is no line of it is passed over.
func parseLog(data []byte) []Entry {
	var entries []Entry
	at := map[string]int{}
	for text := range bytes.Lines(data) {
		text = bytes.TrimSpace(text)
		var l line
		if len(text) == 0 || json.Unmarshal(text, &l) != nil {
			continue
		}
		switch {
		case l.Begun != nil && l.Begun.Call != "" && l.Begun.sound():
			if _, twice := at[l.Begun.Call]; twice {
				continue
			}
			at[l.Begun.Call] = len(entries)
			entries = append(entries, *l.Begun)
		case l.Undid != nil:
			if i, ok := at[l.Undid.Call]; ok {
				entries[i].Undoes = l.Undid.Calls
			}
		case l.Ended != nil:
			if i, ok := at[l.Ended.Call]; ok && entries[i].Ended.IsZero() {
				entries[i].end(*l.Ended)
			}
		}
	}
	return entries
}

// sound reports whether an entry names files of its workspace only.
func (e *Entry) sound() bool {
	if !filepath.IsAbs(e.Workspace) {
		return false
	}
	for _, c := range e.Files {
		if !soundPath(c.Path) || c.Before.Ref != "" && !checkRef(c.Before.Ref) {
			return false
		}
	}
	return true
}

func soundPath(path string) bool {
	local := filepath.FromSlash(path)
	return local != "." && filepath.IsLocal(local) && filepath.ToSlash(filepath.Clean(local)) == path
}

// end adds how the call left its files.
func (e *Entry) end(l endLine) {
	if l.At.IsZero() {
		return
	}
	e.Ended = l.At
	e.NotKept = append(e.NotKept, l.NotKept...)
	known := map[string]int{}
	for i := range e.Files {
		known[e.Files[i].Path] = i
		e.Files[i].After = e.Files[i].Before
		e.Files[i].After.Kept, e.Files[i].After.Why = false, ""
	}
	for _, c := range l.Files {
		i, ok := known[c.Path]
		switch {
		case ok:
			e.Files[i].After = c.After
		case soundPath(c.Path):
			e.Files = append(e.Files, c)
		}
	}
}

// lines are the lines that an entry is read from.
func (e Entry) lines() ([]byte, error) {
	end := endLine{Call: e.Call, At: e.Ended}
	files := e.Files
	e.Files = nil
	for _, c := range files {
		if !e.Ended.IsZero() && (!c.Before.Same(c.After) || c.Before.Mode != c.After.Mode) {
			end.Files = append(end.Files, c)
		}
		c.After = Image{}
		e.Files = append(e.Files, c)
	}
	e.Ended = time.Time{}
	data, err := line{Begun: &e}.encode()
	if err != nil || end.At.IsZero() {
		return data, err
	}
	more, err := line{Ended: &end}.encode()
	return append(data, more...), err
}

// logName is the name of the log of a session.
func logName(session string) string {
	const most = 64
	plain := session != "" && len(session) <= most && strings.Trim(session, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
	if !plain {
		sum := sha256.Sum256([]byte(session))
		session = "x" + hex.EncodeToString(sum[:20])
	}
	return session + logSuffix
}

const logSuffix = ".log"
