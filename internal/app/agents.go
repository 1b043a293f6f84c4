package app

import "time"

// Agent is one agent of an app.
type Agent struct {
	ID            string
	Role          string
	Specialty     string
	SystemPrompt  string
	Brain         *Brain            // nil: the offline brain
	Lanes         map[string]*Brain // edge and core; nil: one lane
	Modules       []AgentModule     // what it may use; nil: all of the app's
	Skills        []string          // commands of skills whose text is always in its prompt
	MaxIterations int               // how often it is asked within one turn; 0: as the app says
	PlanFirst     bool
}

// AgentModule is a module that an agent may use.
type AgentModule struct {
	Name    string
	Actions []string // empty: all of them
}

// Brain is a model, and how it is asked. A field that is zero is the
// provider's to choose.
type Brain struct {
	Provider    string // "offline" is the embedded one
	Model       string
	Backend     string
	BaseURL     string
	Key         string // may hold {{secret.NAME}}
	Credential  string // the secret that is its key; goes before Key
	Headers     map[string]string
	DataSent    []string // its key and headers as the file writes them, for a human to see
	Temperature *float64
	TopP        *float64
	MaxTokens   int
	Timeout     time.Duration
	NativeTools *bool
	Window      int // tokens
	Context     Context
	Effort      string
	Fallback    *Brain
}

// Offline is the provider of the embedded brain.
const Offline = "offline"

// Runtime is how an app's agents run.
type Runtime struct {
	Mode        string        // one_shot or conversation
	Entry       string        // the agent that is spoken to
	MaxTurns    int           // how often a model is asked within one turn
	Timeout     time.Duration // of one turn
	Workdir     string        // for WorkdirMode fixed
	WorkdirMode string        // none, required, fixed or auto
	Context     Context       // of every brain, unless it says otherwise
}

// Skill is a text that tells a model how something is done.
type Skill struct {
	Command     string // without its slash
	Description string
	Path        string // of its file
	Dir         string // its folder, where files that it names are
	Content     string
}
