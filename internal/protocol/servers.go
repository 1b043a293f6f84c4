package protocol

import (
	"encoding/json"
	"time"

	"callgate/tool"
)

// ServerStatus is how an MCP server stands.
type ServerStatus struct {
	Name         string      `json:"name"`
	State        ServerState `json:"state"`
	Server       string      `json:"server,omitempty"` // what it calls itself
	Protocol     string      `json:"protocol,omitempty"`
	Instructions string      `json:"instructions,omitempty"`
	Resources    bool        `json:"resources,omitempty"`
	Prompts      bool        `json:"prompts,omitempty"`
	Tools        int         `json:"tools"`
	Fetched      time.Time   `json:"fetched,omitzero"` // when its tools were last asked for
	Pid          int         `json:"pid,omitempty"`
	Since        time.Time   `json:"since,omitzero"` // of running
	Calls        int         `json:"calls"`
	Failures     int         `json:"failures"` // of the calls
	InFlight     int         `json:"in_flight"`
	Waiting      int         `json:"waiting"` // calls that wait for a slot
	LastError    string      `json:"last_error,omitempty"`
	NextTry      time.Time   `json:"next_try,omitzero"`
}

// ServerState is where a server stands.
type ServerState string

// Server is an MCP server behind a session's app.
type Server struct {
	ServerStatus
	Module   string     `json:"module"`
	Level    string     `json:"level"`           // of the app file that it is in: project or user
	Launch   string     `json:"launch"`          // what it runs, or where it is
	Parts    Launch     `json:"parts"`           // the same in its parts, without values
	Reach    string     `json:"reach,omitempty"` // what a command can reach, in words
	Accepted bool       `json:"accepted"`        // a human let it run
	Held     []HeldTool `json:"held,omitempty"`  // tools that wait for a human
	Problems []string   `json:"problems,omitempty"`
	Locks    string     `json:"locks,omitempty"` // the package whose ready map says what its calls lock
}

// Launch is what a server runs, or where it is reached, in its parts. It has the
// names of the variables and headers that the server is given, never a value.
type Launch struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Dir     string   `json:"dir,omitempty"` // empty: the app's folder
	Env     []string `json:"env,omitempty"`
	URL     string   `json:"url,omitempty"`
	Headers []string `json:"headers,omitempty"`
}

// HeldTool is a tool of a server that is not shown before a human accepts it.
type HeldTool struct {
	Definition Definition  `json:"definition"`
	Hash       string      `json:"hash"` // names exactly this definition: see DefinitionRef
	Reason     HeldReason  `json:"reason"`
	Before     *Definition `json:"before,omitempty"` // the definition that was accepted under this name
	Diff       string      `json:"diff"`             // of the definitions, a line each
	Findings   []Finding   `json:"findings,omitempty"`
	Rejected   *Stamp      `json:"rejected,omitempty"` // a human has seen this definition and said no
}

// Ref names exactly the definition that a human was shown.
func (h HeldTool) Ref() DefinitionRef { return DefinitionRef{h.Definition.Name, h.Hash} }

// HeldReason is why a tool is held.
type HeldReason string

// The reasons.
const (
	HeldChanged    HeldReason = "changed"    // another definition was accepted under this name
	HeldNew        HeldReason = "new"        // its server was known, and did not have it
	HeldSuspicious HeldReason = "suspicious" // its text looks like an attempt to steer a model
	HeldUnpinned   HeldReason = "unpinned"   // the app wants a human to accept it first
)

// Definition is a tool as its server defines it.
type Definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Finding is something in a definition that a human should know of.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Where    string `json:"where"`
	Excerpt  string `json:"excerpt"`
	Why      string `json:"why"`
}

// Stamp is who did something, and when.
type Stamp struct {
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

// DefinitionRef names one definition of a tool.
type DefinitionRef struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// Trust is a human's word on a server: that it may run, and which of its held
// tools may be shown.
type Trust struct {
	Launch string          `json:"launch,omitempty"` // as it was shown; empty: the word is not about that
	Accept []DefinitionRef `json:"accept,omitempty"`
	Reject []DefinitionRef `json:"reject,omitempty"`
	By     string          `json:"by,omitempty"`
	// Revoke takes back what was accepted of an app file. It is of use with AppConsent
	// only.
	Revoke bool `json:"revoke,omitempty"`
}

// AppConsent is the name of what an app file asks for, in the place of a
// server's name in RouteTrust.
const AppConsent = "(app)"

// BeginLogin is the body of RouteLogin; none is the same as the zero value. Accept is what a question
// gave: a person was asked and said yes to it.
type BeginLogin struct {
	Accept string `json:"accept,omitempty"`
	By     string `json:"by,omitempty"`
}

// Login is one line of the stream that RouteLogin gives: first the page on
// which the human logs in, with those that take part, then how it ended. If a person must
// say yes first to those that take part, the only line is an error with the question,
// and what to accept for a yes.
type Login struct {
	URL    string        `json:"url,omitempty"`
	With   *LoginParties `json:"with,omitempty"`
	Done   bool          `json:"done,omitempty"`
	Ask    string        `json:"ask,omitempty"`
	Accept string        `json:"accept,omitempty"`
	Error  *tool.Error   `json:"error,omitempty"`
}

// LoginParties are those that take part in a login, beside the server and the person.
type LoginParties struct {
	Issuer    string `json:"issuer"`
	Authorize string `json:"authorize"` // the origin of the page where the person logs in
	Token     string `json:"token"`     // the origin to which the code goes
}

// ServerLogLine is a line that a server wrote.
type ServerLogLine struct {
	Time   time.Time `json:"time"`
	Stream string    `json:"stream"` // stderr, stdout (no message), or log (by the protocol)
	Text   string    `json:"text"`
}

// The kinds of what servers have beside tools.
const (
	Resources = "resources"
	Templates = "templates"
	Prompts   = "prompts"
)

// ServerItem asks for one resource by its URI, or one prompt by its name.
type ServerItem struct {
	Name string            `json:"name"`
	Args map[string]string `json:"args,omitempty"`
}
