// Package catalogue reads catalogues of MCP servers: entries in the registry's form (server.json), from a file or a
// registry's address.
//
// # Law
//
// A catalogue is a stranger's text. Nothing in it names a program: which one runs a package follows from the package's
// type. A package is of one exact version. What could mean something to a shell, to our own templates or to a terminal
// is refused, and so is what would have a program run beside the package: options of the runner, variables that change
// what a program loads. Reading is bounded.
package catalogue

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"callgate/tool"
)

// The bounds of what is read.
const (
	maxBytes   = 16 << 20
	maxEntries = 20_000
	maxText    = 2_000
	maxItems   = 64
)

// Entry is one server of a catalogue: its server.json.
type Entry struct {
	Name        string    `json:"name"`
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Version     string    `json:"version"`
	Packages    []Package `json:"packages,omitempty"`
	Remotes     []Remote  `json:"remotes,omitempty"`
}

// Package is a program that speaks MCP, and where it is from.
type Package struct {
	Type      string `json:"registryType"`
	ID        string `json:"identifier"`
	Version   string `json:"version"`
	SHA256    string `json:"fileSha256,omitempty"`
	Transport struct {
		Type string `json:"type"`
	} `json:"transport"`
	RuntimeArguments []Argument `json:"runtimeArguments,omitempty"`
	Arguments        []Argument `json:"packageArguments,omitempty"`
	Env              []Input    `json:"environmentVariables,omitempty"`
}

// Argument is one of a command line.
type Argument struct {
	Input
	Type      string `json:"type"` // positional or named
	ValueHint string `json:"valueHint,omitempty"`
}

// Input is a value that somebody gives, or that is given.
type Input struct {
	Name        string         `json:"name,omitempty"`
	Description string         `json:"description,omitempty"`
	Value       string         `json:"value,omitempty"`
	Default     string         `json:"default,omitempty"`
	Required    bool           `json:"isRequired,omitempty"`
	Secret      bool           `json:"isSecret,omitempty"`
	Choices     []string       `json:"choices,omitempty"`
	Variables   map[string]any `json:"variables,omitempty"`
}

// Remote is a server that is reached over the network.
type Remote struct {
	Type      string         `json:"type"`
	URL       string         `json:"url"`
	Headers   []Input        `json:"headers,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
}

// page is an answer of a registry, and the form of a catalogue in a file.
type page struct {
	Servers  []json.RawMessage `json:"servers"`
	Metadata struct {
		Next string `json:"nextCursor"`
	} `json:"metadata"`
}

const op = "catalogue"

// Read reads a catalogue: a list of entries, an object with a list "servers" as a registry answers, or one entry. The
// entries that cannot be shown are left out, and counted.
func Read(r io.Reader) (entries []Entry, bad int, err error) {
	entries, bad, _, err = read(r)
	return entries, bad, err
}

func read(r io.Reader) (entries []Entry, bad int, next string, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, 0, "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the catalogue cannot be read", Err: err}
	}
	if len(data) > maxBytes {
		return nil, 0, "", tool.Errorf(op, tool.Invalid, "the catalogue is larger than %d MiB", maxBytes>>20)
	}
	var raw []json.RawMessage
	var p page
	switch data = bytes.TrimSpace(data); {
	case bytes.HasPrefix(data, []byte("[")):
		err = json.Unmarshal(data, &raw)
	default:
		if err = json.Unmarshal(data, &p); err == nil {
			raw, next = p.Servers, p.Metadata.Next
		}
		if err == nil && raw == nil {
			raw = []json.RawMessage{data}
		}
	}
	if err != nil {
		return nil, 0, "", tool.Errorf(op, tool.Invalid, "this is no catalogue of servers: %w", err).
			WithHint("it is a JSON list of server.json entries, or what a registry answers")
	}
	if len(raw) > maxEntries {
		return nil, 0, "", tool.Errorf(op, tool.Invalid, "the catalogue has more than %d servers", maxEntries)
	}
	for _, one := range raw {
		if e, ok := entryOf(one); ok {
			entries = append(entries, e)
		} else {
			bad++
		}
	}
	return entries, bad, next, nil
}

// entryOf reads an entry, alone or beside what a registry says of it.
func entryOf(raw json.RawMessage) (Entry, bool) {
	var wrapped struct {
		Server json.RawMessage `json:"server"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && len(wrapped.Server) > 0 {
		raw = wrapped.Server
	}
	var e Entry
	if json.Unmarshal(raw, &e) != nil || !namePattern().MatchString(e.Name) || len(e.Name) > 200 {
		return Entry{}, false
	}
	if !plain(e.Version) || len(e.Version) > 255 || !plain(e.Title) || !plain(e.Description) {
		return Entry{}, false
	}
	return e, len(e.Packages) <= maxItems && len(e.Remotes) <= maxItems
}

func namePattern() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
}

// plain reports whether a text is short, and shows what it says.
func plain(text string) bool {
	return len(text) <= maxText && !strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
	})
}

// Search returns the entries whose name, title or description has all the words, by name.
func Search(entries []Entry, words []string) []Entry {
	var found []Entry
	for _, e := range entries {
		text := strings.ToLower(e.Name + " " + e.Title + " " + e.Description)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) }) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// Find returns the entry of a name, whole or what follows its slash; the last one of several versions.
func Find(entries []Entry, name string) (Entry, error) {
	var found []Entry
	for _, e := range entries {
		if _, short, _ := strings.Cut(e.Name, "/"); e.Name == name || short == name {
			found = slices.DeleteFunc(found, func(old Entry) bool { return old.Name == e.Name })
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, tool.Errorf(op, tool.NotFound, "the catalogue has no server %q", tool.Truncate(name)).
			WithHint("callgate mcp search WORDS lists what it has")
	case 1:
		return found[0], nil
	}
	return Entry{}, tool.Errorf(op, tool.Ambiguous, "several servers are called %q", tool.Truncate(name)).
		WithHint("name it whole, such as %s", found[0].Name)
}
