package app

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"callgate/internal/agent/surface"
)

// Surface says how an agent is shown its tools.
type Surface struct {
	Mode          string   // direct, compact_direct or discovery; empty: by the budget
	Window        int      // tokens of the model's context; 0: not set
	DirectModules []string // shown whole in every mode
	Pinned        []string // tools shown whole in every mode
	Primitives    []string // the kernel's own tools beyond the five; nil: all
	// Builtin is which of the modules that are on an MCP client is given.
	Builtin surface.Builtin
}

// Search says how tools are found by meaning. The zero value is the built-in
// model.
type Search struct {
	Model    string // folder of a static model
	Endpoint Endpoint
	Synonyms [][]string
	FromUser bool // it is in the user's own file, and needs no consent
}

// Endpoint is an embeddings API in the form of OpenAI's.
type Endpoint struct {
	URL        string
	Model      string
	Key        string // may refer to a secret
	Dimensions int
}

// Key is equal for apps that search in the same way.
func (s Search) Key() string {
	data, _ := json.Marshal(s) // of strings and numbers
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
