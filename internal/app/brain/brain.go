// Package brain reads the models of an app file, which the file calls brains: which
// one an agent has, how its provider is reached, how it is asked, and how a
// conversation is kept within its window.
//
// A field that is left out is left open: the provider, or what the model is known to
// be, decides. A key that stands in the file, or comes from a variable, is told apart
// from one that a secret holds, because a human who accepts the file must see what it
// sends.
package brain

import (
	"time"

	"callgate/internal/provider/catalog"
)

// Model is a language model, which the file calls a brain, and how it is asked.
// The provider chooses what a zero field leaves open.
type Model struct {
	Provider string // "offline" is the embedded one
	Name     string // by which the provider knows it
	Connection
	Sampling
	Timeout     time.Duration // of one answer
	Patience    time.Duration // with a provider that limits the rate; 0: 10 minutes
	AtOnce      int           // requests that run at once, of all agents with the same brain; 0: 8
	NativeTools *bool
	Vision      Vision
	Window      int // tokens
	Context     Context
	Fallback    *Model
	FromUser    bool // it is in the user's own file, and needs no consent
}

// Vision says how a model is sent pictures.
type Vision struct {
	Reads  *bool  // nil: as is known of the model
	Detail string // low or high, where the provider has it; "": the provider decides
	Most   int    // pictures of one turn; 0: all of them
}

// Connection says how a model's provider is reached.
type Connection struct {
	Backend    string // the API that the provider speaks; empty: as its name tells
	BaseURL    string
	Key        string // may hold {{secret.NAME}}
	KeyInFile  bool   // the key itself stands in the file
	Credential string // the secret that is its key; goes before Key
	Headers    map[string]string
	DataSent   []string // its key and headers as the file writes them, for a human to see
	// Catalog is what the app knows of models; nil: the embedded table.
	Catalog *catalog.Catalog
}

// Sampling says how a model makes its answer.
type Sampling struct {
	Temperature *float64
	TopP        *float64
	MaxTokens   int
	Effort      string
}

// Offline is the provider of the embedded model.
const Offline = "offline"
