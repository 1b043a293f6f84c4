// Package definition is the definition of a tool by an MCP server, a hash that
// changes when anything but the layout of its JSON does, and a diff of two
// definitions for a human.
package definition

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"callgate/tool"
)

// Definition is how a server defines one of its tools: all of it that a model or
// a human may read.
type Definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Hash is the digest of a definition or of a command line.
type Hash [sha256.Size]byte

// String writes the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	n, err := hex.Decode(h[:], text[:min(len(text), 2*len(h))])
	if err != nil || n != len(h) || len(text) != 2*len(h) {
		return tool.Errorf("definition.Hash", tool.Invalid, "%q is not a sha256 in hex", tool.Truncate(string(text)))
	}
	return nil
}

// Hash is the digest of the definition in its canonical form. The order of keys
// and white space between values do not count; everything else does: a number
// keeps its spelling, and a key that occurs twice occurs twice. A part that is
// absent equals one that is null. A part that is not JSON counts byte by byte,
// and never equals JSON.
func (d Definition) Hash() Hash {
	b := make([]byte, 0, 256+len(d.Description)+len(d.Input)+len(d.Output))
	b = append(b, `{"annotations":`...)
	b = appendPart(b, d.Annotations)
	b = append(b, `,"description":`...)
	b = appendQuoted(b, d.Description)
	b = append(b, `,"input":`...)
	b = appendPart(b, d.Input)
	b = append(b, `,"name":`...)
	b = appendQuoted(b, d.Name)
	b = append(b, `,"output":`...)
	b = appendPart(b, d.Output)
	b = append(b, `,"title":`...)
	b = appendQuoted(b, d.Title)
	return sha256.Sum256(append(b, '}'))
}

func appendPart(b []byte, raw json.RawMessage) []byte {
	n, err := Parse(raw)
	if err != nil {
		return appendQuoted(append(b, '!'), string(raw))
	}
	return n.appendCanonical(b)
}

// Limits of a definition. The largest of some thirteen thousand real definitions
// has a fifth of this size and a fifth of this depth.
const (
	maxDefinition = 256 << 10 // bytes
	maxDepth      = 200       // of nested JSON
)

// Problem says why a definition can be neither kept nor accepted, or "". Two
// programs would not read such a definition the same way, so a human cannot
// accept it: its server must correct it. The parts are the definition's own.
func (d Definition) Problem(parts [3]Part) string {
	switch {
	case d.Name == "":
		return "it has no name"
	case !utf8.ValidString(d.Name) || !utf8.ValidString(d.Title) || !utf8.ValidString(d.Description):
		return "its text is not UTF-8"
	case d.Size() > maxDefinition:
		return "it is longer than any reader would go through"
	}
	for _, part := range parts {
		if part.Err != nil {
			return "its " + part.Name + " cannot be read: " + part.Err.Error()
		}
		if part.Node.hasDuplicateKey() {
			return "its " + part.Name + " has a key twice, and readers differ in which of the two they take"
		}
	}
	return ""
}

// Size is the size of the definition in bytes.
func (d Definition) Size() int {
	return len(d.Name) + len(d.Title) + len(d.Description) + len(d.Input) + len(d.Output) + len(d.Annotations)
}

// Part is one of the JSON parts of a definition.
type Part struct {
	Name string
	Node Node
	Err  error
	raw  json.RawMessage
}

// Parts reads the JSON parts: input, output and annotations.
func (d Definition) Parts() [3]Part {
	parts := [...]Part{
		{Name: "input", raw: d.Input}, {Name: "output", raw: d.Output}, {Name: "annotations", raw: d.Annotations},
	}
	for i := range parts {
		parts[i].Node, parts[i].Err = Parse(parts[i].raw)
	}
	return parts
}

// HashWords is the digest of a command line.
func HashWords(line []string) Hash {
	var b []byte
	for _, word := range line {
		b = appendQuoted(b, word)
	}
	return sha256.Sum256(b)
}
