// Package evaltest loads labelled sets that take their tools from another
// folder. Such a set holds set.json in place of tools.jsonl: labels can be kept
// beside the code, while the tools that they name stay in a catalog that may
// not be on the machine.
package evaltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/search/eval"
	"callgate/tool"
)

const (
	toolsFile = "tools.jsonl"
	setFile   = "set.json"
)

// ErrToolsAbsent is in the chain of Load's error when a set is complete but the
// folder of its tools is not on this machine. A test that needs the set skips
// on this error, and on no other.
var ErrToolsAbsent = errors.New("the tools of this set are not here")

// Load reads the set in dir, as [eval.Load] does, with or without tools of its
// own.
func Load(dir string) (*eval.Set, error) {
	source, err := loadSource(dir)
	if err != nil {
		return nil, err
	}
	if source == nil {
		return eval.Load(dir)
	}
	all, err := eval.LoadTools(source.folder)
	if err != nil {
		return nil, err
	}
	tools, err := source.choose(dir, all)
	if err != nil {
		return nil, err
	}
	set, err := eval.LoadWith(dir, tools)
	if err == nil && source.Name != "" {
		set.Name = source.Name
	}
	return set, err
}

// source is set.json: where the tools of a set are. Unknown keys are refused,
// for a misspelt "servers" would take every tool.
type source struct {
	Name      string   `json:"name"`       // of the set; default the name of its folder
	Note      string   `json:"note"`       // for people
	ToolsFrom string   `json:"tools_from"` // the folder of the tools
	Servers   []string `json:"servers"`    // whose tools to take; empty takes all

	folder string // where ToolsFrom was found
}

// loadSource reads the set.json in dir. It returns nil for a folder without one.
func loadSource(dir string) (*source, error) {
	name := filepath.Join(dir, setFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, tool.Errorf("evaltest.load", tool.Unavailable, "%s cannot be read: %w", name, err)
	}
	if isFile(filepath.Join(dir, toolsFile)) {
		return nil, invalid(dir, "%s stands beside %s", toolsFile, setFile).WithHint("keep one of the two")
	}
	var s source
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, invalid(dir, "%w", err).
			WithHint(`write {"tools_from": "…", "servers": ["…"]}; name and note may be added`)
	}
	if dec.More() {
		return nil, invalid(dir, "something follows the object").WithHint("write one JSON object")
	}
	if s.ToolsFrom == "" {
		return nil, invalid(dir, "tools_from is missing").WithHint("name the folder of the tools that the labels name")
	}
	s.folder, err = find(dir, s.ToolsFrom)
	return &s, err
}

func invalid(dir, format string, args ...any) *tool.Error {
	name := filepath.ToSlash(filepath.Join(dir, setFile))
	return tool.Errorf("evaltest.load", tool.Invalid, name+": "+format, args...)
}

// find looks for the folder of the tools: as it is written, seen from dir, and
// then as shared/bench/NAME beside dir or any folder above it, so that a
// checkout may be anywhere under the folder that holds the shared sets.
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
	absent := tool.Errorf("evaltest.load", tool.NotFound, "%s takes its tools from %s: %w", dir, from, ErrToolsAbsent)
	return "", absent.WithHint("put that set there, or under shared/bench in a folder above")
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// choose returns the tools of the servers that the set names, and fails if a
// server has no tools.
func (s *source) choose(dir string, all []eval.Tool) ([]eval.Tool, error) {
	if len(s.Servers) == 0 {
		return all, nil
	}
	var chosen []eval.Tool
	found := map[string]bool{}
	for _, t := range all {
		server := t.Server
		if server == "" {
			server = t.Category
		}
		if slices.Contains(s.Servers, server) {
			found[server] = true
			chosen = append(chosen, t)
		}
	}
	var none []string
	for _, server := range s.Servers {
		if !found[server] {
			none = append(none, server)
		}
	}
	if len(none) == 0 {
		return chosen, nil
	}
	slices.Sort(none)
	return nil, invalid(dir, "no tool in %s is of the servers %s", s.ToolsFrom, strings.Join(none, ", ")).
		WithHint("a server is named as in the tools' server, or in their category where they have none")
}
