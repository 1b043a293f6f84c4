package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// ErrToolsAbsent is in the chain of Load's error when a set is whole but the
// folder it borrows its tools from is not on this machine. A test that needs
// the set skips on this, and on nothing else.
var ErrToolsAbsent = errors.New("the tools this set borrows are not here")

// borrowed is set.json: whose tools the set's labels speak of. A key it does
// not know is refused, for a misspelt "servers" would take every tool.
type borrowed struct {
	Name      string   `json:"name"`       // of the set; its folder's name when empty
	Note      string   `json:"note"`       // for people
	ToolsFrom string   `json:"tools_from"` // the other set's folder
	Servers   []string `json:"servers"`    // whose tools to take; empty takes all

	folder string          // where ToolsFrom was found
	wanted map[string]bool // server → whether a tool of it was met; nil takes all
}

// loadBorrowed reads dir's set.json; a folder with tools of its own has none,
// and that is nil.
func loadBorrowed(dir string) (*borrowed, error) {
	name := filepath.Join(dir, borrowFile)
	text, err := os.ReadFile(name)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, tool.Errorf("eval.load", tool.Unavailable, "%s cannot be read: %w", name, err)
	}
	if isFile(filepath.Join(dir, toolsFile)) {
		return nil, wrongBorrow(dir, "%s stands beside %s", toolsFile, borrowFile).WithHint("keep one of the two")
	}
	var b borrowed
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return nil, wrongBorrow(dir, "%w", err).WithHint(`write {"tools_from": "…", "servers": ["…"]}; name and note may be added`)
	}
	if dec.More() {
		return nil, wrongBorrow(dir, "something follows the object").WithHint("write one JSON object")
	}
	if b.ToolsFrom == "" {
		return nil, wrongBorrow(dir, "tools_from is missing").WithHint("name the folder whose tools the labels speak of")
	}
	if len(b.Servers) > 0 {
		b.wanted = map[string]bool{}
		for _, s := range b.Servers {
			b.wanted[s] = false
		}
	}
	b.folder, err = find(dir, b.ToolsFrom)
	return &b, err
}

func wrongBorrow(dir, format string, args ...any) *tool.Error {
	return tool.Errorf("eval.load", tool.Invalid, filepath.ToSlash(filepath.Join(dir, borrowFile))+": "+format, args...)
}

// find looks for the folder from: as it is written, seen from dir, and then as
// shared/bench/NAME beside dir or any folder above it, so that a checkout may
// lie anywhere under the folder that holds the shared sets.
func find(dir, from string) (string, error) {
	written := filepath.FromSlash(from)
	if !filepath.IsAbs(written) {
		written = filepath.Join(dir, written)
	}
	if isFile(filepath.Join(written, toolsFile)) {
		return written, nil
	}
	at, err := filepath.Abs(dir)
	for err == nil {
		shared := filepath.Join(at, "shared", "bench", filepath.Base(written))
		if isFile(filepath.Join(shared, toolsFile)) {
			return shared, nil
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	absent := tool.Errorf("eval.load", tool.NotFound, "%s borrows its tools from %s: %w", dir, from, ErrToolsAbsent)
	return "", absent.WithHint("put that set there, or under shared/bench in a folder above")
}

// takes says whether the set wants t. A set that borrows nothing wants all.
func (b *borrowed) takes(t Tool) bool {
	if b == nil || b.wanted == nil {
		return true
	}
	server := t.Server
	if server == "" {
		server = t.Category
	}
	_, wanted := b.wanted[server]
	if wanted {
		b.wanted[server] = true
	}
	return wanted
}

// missing complains about servers that were asked for and have no tools.
func (b *borrowed) missing(dir string) error {
	if b == nil {
		return nil
	}
	var none []string
	for s, met := range b.wanted {
		if !met {
			none = append(none, s)
		}
	}
	if len(none) == 0 {
		return nil
	}
	slices.Sort(none)
	return wrongBorrow(dir, "no tool in %s is of the servers %s", b.ToolsFrom, strings.Join(none, ", ")).
		WithHint("a server is named as in the tools' server, or in their category where they have none")
}
