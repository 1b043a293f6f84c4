// Package toolcache keeps what MCP servers brought, so that their tools are
// known before they run.
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
	// legacyFor is how long a server that took the new handshake badly is not
	// asked it again.
	legacyFor = 7 * 24 * time.Hour
)

// Listing is what a server brought when it last ran. It is not changed once it
// is stored.
type Listing struct {
	Version      int       `json:"version"`
	Key          string    `json:"key"`
	Name         string    `json:"name"`
	Server       string    `json:"server,omitempty"` // what it calls itself
	Protocol     string    `json:"protocol"`
	Instructions string    `json:"instructions,omitempty"`
	Resources    bool      `json:"resources,omitempty"`
	Prompts      bool      `json:"prompts,omitempty"`
	Fetched      time.Time `json:"fetched"`
	Legacy       time.Time `json:"legacy,omitzero"` // when it took the new handshake badly
	Tools        []Entry   `json:"tools"`
	Notes        []Problem `json:"notes,omitempty"` // of the list as a whole
}

// Entry is a definition as it came, and what was made of its schemas. Judging
// schemas takes time, so it is done when they come and not when they are read
// again.
type Entry struct {
	translate.Definition
	Repaired json.RawMessage `json:"mended,omitempty"` // the input schema, when it is not the definition's own
	Typed    bool            `json:"typed,omitempty"`  // the output schema may be used
	Notes    []string        `json:"notes,omitempty"`
}

// newEntry judges a definition.
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

// InputSchema is the schema that arguments must meet.
func (e Entry) InputSchema() json.RawMessage {
	if e.Repaired != nil {
		return e.Repaired
	}
	return e.Input
}

// New makes a manifest of what a server brought just now: it orders the definitions by name, and leaves out those that cannot
// be called because another has the same name.
func New(defs []translate.Definition, check translate.Check) *Listing {
	m := &Listing{Version: version, Fetched: time.Now().UTC(), Tools: make([]Entry, 0, len(defs))}
	slices.SortStableFunc(defs, func(a, b translate.Definition) int { return cmp.Compare(a.Name, b.Name) })
	for i, d := range defs {
		if i > 0 && d.Name == defs[i-1].Name {
			m.Notes = append(m.Notes, Problem{d.Name, "the server lists it twice; the first one counts"})
			continue
		}
		m.Tools = append(m.Tools, newEntry(d, check))
	}
	return m
}

// SameTools reports whether two manifests bring the same tools.
func (m *Listing) SameTools(other *Listing) bool {
	if m == nil || other == nil {
		return m == other
	}
	a, err1 := json.Marshal(m.Tools)
	b, err2 := json.Marshal(other.Tools)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// HandshakeFailed reports when the server took the new handshake badly, and whether
// that is recent enough to spare it.
func (m *Listing) HandshakeFailed() (since time.Time, lately bool) {
	if m == nil {
		return time.Time{}, false
	}
	return m.Legacy, time.Since(m.Legacy) < legacyFor
}

// Cache is a folder of manifests; empty, there is none.
type Cache string

func (c Cache) path(key string) string { return filepath.Join(string(c), key+".json") }

// Load returns a manifest, or nil when there is none that can be used: it will
// be fetched again.
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
	m := &Listing{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, err
	}
	if m.Version != version || m.Key != key {
		return nil, nil
	}
	return m, nil
}

// Store writes a manifest: whole or not at all, and for its owner alone.
func (c Cache) Store(m *Listing) error {
	if c == "" {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(c), 0o700); err != nil {
		return err
	}
	return durable.Write(c.path(m.Key), data, 0o600)
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
