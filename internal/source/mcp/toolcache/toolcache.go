// Package toolcache keeps what MCP servers listed, so that their tools are known
// before they run.
package toolcache

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/durable"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

const (
	version = 1
	// legacyFor is how long a server that failed at the new handshake is spared
	// it.
	legacyFor = 7 * 24 * time.Hour
)

// Listing is what a server listed when it last ran. It does not change once it
// is stored.
type Listing struct {
	Version      int       `json:"version"`
	Key          string    `json:"key"`
	Name         string    `json:"name"`
	Server       string    `json:"server,omitempty"` // the name that it gives itself
	Protocol     string    `json:"protocol"`
	Instructions string    `json:"instructions,omitempty"`
	Resources    bool      `json:"resources,omitempty"`
	Prompts      bool      `json:"prompts,omitempty"`
	Fetched      time.Time `json:"fetched"`
	Legacy       time.Time `json:"legacy,omitzero"` // when it failed at the new handshake
	Tools        []Entry   `json:"tools"`
	Notes        []Problem `json:"notes,omitempty"` // of the list as a whole
	Asked        uint64    `json:"-"`               // when it was asked for, in the order of this process; 0: by another
}

// Entry is a definition as it was listed, and its schemas as they are used.
// Checking schemas takes time, so they are checked when they are listed and not
// each time they are read.
type Entry struct {
	translate.Definition
	Repaired json.RawMessage `json:"mended,omitempty"` // the input schema, when it is not the definition's own
	Typed    bool            `json:"typed,omitempty"`  // the output schema is valid
	Notes    []string        `json:"notes,omitempty"`
}

// newEntry checks the schemas of a definition.
func newEntry(d translate.Definition, check translate.Check) Entry {
	e := Entry{Definition: d}
	input, note := d.InputSchema(check)
	if !bytes.Equal(input, d.Input) {
		e.Repaired = input
	}
	output, note2 := d.OutputSchema(check)
	e.Typed = output != nil
	for _, n := range []string{note, note2} {
		if n != "" {
			e.Notes = append(e.Notes, n)
		}
	}
	return e
}

// InputSchema is the schema for arguments.
func (e Entry) InputSchema() json.RawMessage {
	if e.Repaired != nil {
		return e.Repaired
	}
	return e.Input
}

// New makes a listing of the definitions that a server lists now. It orders them
// by name, and leaves out those that cannot be called because another has the
// same name.
func New(defs []translate.Definition, check translate.Check) *Listing {
	l := &Listing{Version: version, Fetched: time.Now().UTC(), Tools: make([]Entry, 0, len(defs))}
	slices.SortStableFunc(defs, func(a, b translate.Definition) int { return cmp.Compare(a.Name, b.Name) })
	for i, d := range defs {
		if i > 0 && d.Name == defs[i-1].Name {
			l.Notes = append(l.Notes, Problem{d.Name, "the server lists it twice; the first one counts"})
			continue
		}
		l.Tools = append(l.Tools, newEntry(d, check))
	}
	return l
}

// SameTools reports whether the same tools are published of two listings: those
// that the servers list, and those that read their resources and prompts.
func (l *Listing) SameTools(other *Listing) bool {
	if l == nil || other == nil {
		return l == other
	}
	if l.Resources != other.Resources || l.Prompts != other.Prompts {
		return false
	}
	a, err1 := json.Marshal(l.Tools)
	b, err2 := json.Marshal(other.Tools)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// LegacySince returns when the server failed at the new handshake, if that is
// recent enough to spare it; otherwise it returns zero.
func (l *Listing) LegacySince() time.Time {
	if l == nil || time.Since(l.Legacy) >= legacyFor {
		return time.Time{}
	}
	return l.Legacy
}

// Cache is a folder of listings; the empty Cache keeps none.
type Cache string

func (c Cache) path(key string) string { return filepath.Join(string(c), key+".json") }

// Load returns a listing, or nil when there is none of this version: the server
// is then fetched again.
func (c Cache) Load(key string) (*Listing, error) {
	if c == "" {
		return nil, nil
	}
	data, err := os.ReadFile(c.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &Listing{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, err
	}
	if l.Version != version || l.Key != key {
		return nil, nil
	}
	return l, nil
}

// Store writes a listing, whole or not at all, in a file that only its owner can
// read.
func (c Cache) Store(l *Listing) error {
	if c == "" {
		return nil
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(c), 0o700); err != nil {
		return err
	}
	return durable.Write(c.path(l.Key), data, 0o600)
}

// Problem is something about a server's tools that a person should know.
type Problem struct {
	Tool    string `json:"tool,omitempty"` // the server's name for it; empty: the server as a whole
	Message string `json:"message"`
}

// String writes the problem as a line.
func (p Problem) String() string {
	if p.Tool == "" {
		return p.Message
	}
	return "tool " + tool.Truncate(p.Tool) + ": " + p.Message
}
