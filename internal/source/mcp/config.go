package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// The transports a Config may name. The empty one chooses: Stdio for a
// command, and for a URL HTTP, or SSE when the server turns out to be old.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// ToolConfig is what the app file says of one tool; it wins over what is
// inferred from the tool's annotations and name.
type ToolConfig = translate.ToolConfig

// Definition is a tool as its server defines it.
type Definition = translate.Definition

// Problem is something about a server's tools that a person should know.
type Problem = toolcache.Problem

// LogLine is one line that a server wrote.
type LogLine = serverlog.Line

// Config is one server as an app file names it. The text of Command, Args,
// Env, URL, Headers and OAuth.ClientSecret may hold {{secret.NAME}}, which
// stays a reference until the server is started or connected.
type Config struct {
	Name      string            `json:"name"` // its tools are the module mcp_<name>
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	EnvAllow  []string          `json:"env_allow,omitempty"` // variables of the kernel that the child inherits too
	Dir       string            `json:"dir,omitempty"`
	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"`
	Protocol  string            `json:"protocol,omitempty"` // the one version it is spoken to in; empty: the newest that it knows
	Headers   map[string]string `json:"headers,omitempty"`
	OAuth     *OAuth            `json:"oauth,omitempty"`

	CallTimeout  time.Duration `json:"call_timeout,omitempty"`  // of a call without progress; default 60 s
	StartTimeout time.Duration `json:"start_timeout,omitempty"` // default 30 s
	IdleStop     time.Duration `json:"idle_stop,omitempty"`     // a server nobody called for so long is stopped; 0: never
	Concurrency  int           `json:"concurrency,omitempty"`   // calls at a time; default 8

	Tools map[string]ToolConfig `json:"tools,omitempty"` // by the server's name for the tool, or ours
}

// OAuth is how to log in to a remote server. The zero value finds everything
// out and registers by itself.
type OAuth struct {
	ClientID     string   `json:"client_id,omitempty"` // registered beforehand; empty: register now
	ClientSecret string   `json:"client_secret,omitempty"`
	CallbackPort int      `json:"callback_port,omitempty"` // of http://localhost:PORT/callback; 0: any
	Scopes       []string `json:"scopes,omitempty"`        // default: what the server asks for
}

// Options is what a Hub needs of the kernel. The zero value works: nothing is
// remembered between runs, and no secret is known.
type Options struct {
	Cache   string        // folder of what servers brought; empty: none
	Tokens  string        // folder of logins; empty: they last as long as the hub
	Version string        // of Callgate, as servers are told
	Grace   time.Duration // how long a stopped server may take to end, twice; default 2 s

	Secret        func(name string) (string, error)
	Scrub         func(string) string // takes secrets out of what is shown
	Log           *slog.Logger
	Check         func(schema json.RawMessage) error                           // judges a schema; nil: any object is taken for one
	StoreArtifact func(ctx context.Context, data []byte) (ref string, e error) // stores what no model can read; nil: it is left out

	// OnToolsChanged is called when a server's tools are no longer what Tools last
	// returned. It must not wait for the server.
	OnToolsChanged func(*Server)
	// Vet returns those definitions that may be published. It is asked each
	// time Tools is.
	Vet func(*Server, []Definition) []Definition
	// MayStart gives consent to run a server's command, or to contact a remote
	// one, which its requests would tell of us. Its error is told to
	// whoever wanted to use the server.
	MayStart func(*Server) error
	// ClientFor finds the client on whose behalf a server works: by the context of
	// the request, or by the calls that the server has under way, when they are
	// all of one client. It returns nil when there is none; so does a nil Guest.
	ClientFor func(ctx context.Context, calls []string) Client
	// OnRead is told of everything but a call that is read of a server, with how
	// it ended. What cannot be put on record is not handed out.
	OnRead func(*Server, ReadRequest, ReadResult) error
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	pick := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	pick(&c.CallTimeout, 60*time.Second)
	pick(&c.StartTimeout, 30*time.Second)
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.Transport == "" && c.Command != "" {
		c.Transport = Stdio
	}
	return c
}

// validate reports the first thing that is wrong with a config.
func (c Config) validate() error {
	const op = "mcp.Server"
	bad := func(format string, args ...any) *tool.Error {
		e := tool.Errorf(op, tool.Invalid, format, args...)
		e.Message = "the MCP server " + tool.Truncate(c.Name) + " " + e.Message
		return e
	}
	switch {
	case c.Name == "":
		return tool.Errorf(op, tool.Invalid, "an MCP server has no name")
	case (c.Command == "") == (c.URL == ""):
		return bad("must have either a command or a url")
	case c.Transport == Stdio && c.Command == "":
		return bad("has the transport stdio and no command")
	case c.Transport != "" && c.Transport != Stdio && c.Command != "":
		return bad("has a command, and the transport %q needs a url", tool.Truncate(c.Transport))
	case !slices.Contains([]string{"", Stdio, HTTP, SSE}, c.Transport):
		return bad("has the transport %q; use stdio, http or sse", tool.Truncate(c.Transport))
	case c.Protocol != "" && !slices.Contains(sdk.SupportedProtocolVersions(), c.Protocol):
		return bad("has the protocol %q; use one of %s", tool.Truncate(c.Protocol), strings.Join(sdk.SupportedProtocolVersions(), ", "))
	case c.Transport == SSE && c.Protocol > legacyProtocol:
		return bad("has the protocol %s, which the transport sse does not know", c.Protocol)
	case c.CallTimeout < 0 || c.StartTimeout < 0 || c.IdleStop < 0 || c.Concurrency < 0:
		return bad("has a negative limit")
	case c.OAuth != nil && (c.OAuth.CallbackPort < 0 || c.OAuth.CallbackPort > 65535):
		return bad("has the callback port %d", c.OAuth.CallbackPort)
	}
	if c.URL != "" && !secretref.HasReference(c.URL) {
		if _, err := parseURL(c.URL); err != nil {
			return bad("has a url that cannot be used: %v", err)
		}
	}
	for _, name := range c.EnvAllow {
		if strings.HasPrefix(name, process.Reserved) {
			return bad("may not inherit %s: the kernel's own variables stay with it", tool.Truncate(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if err := c.validateTool(name); err != nil {
			return bad("has a setting for its tool %s that cannot be used: %v", tool.Truncate(name), err)
		}
	}
	return nil
}

// validateTool holds what the app file says of a tool against a tool made of it.
func (c Config) validateTool(name string) error {
	runtime, _ := Definition{Name: name}.Runtime(c.Tools[name])
	t := tool.Tool{
		ID:      tool.ID{Namespace: translate.Namespace(c.Name), Name: "tool", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: name, Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: runtime,
		Handler: tool.HandlerFunc(nil),
	}
	t.Handler = tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil })
	return t.Validate()
}

// parseURL reads the address of a remote server.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, tool.Errorf("mcp.Server", tool.Invalid, "it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, tool.Errorf("mcp.Server", tool.Invalid, "its scheme is %q; use https or http", tool.Truncate(u.Scheme))
	case u.Host == "":
		return nil, tool.Errorf("mcp.Server", tool.Invalid, "it names no host")
	}
	return u, nil
}

// key is a hash of the whole config. Secrets are references in it, so none
// takes part.
func (c Config) key() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic("mcp: a config is always JSON: " + err.Error()) // it holds nothing that is not
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// account names the login of a server: it outlives changes to other settings,
// and two servers at one address have one each.
func (c Config) account() string {
	client := ""
	if c.OAuth != nil {
		client = c.OAuth.ClientID
	}
	sum := sha256.Sum256([]byte(c.Name + "\x00" + c.URL + "\x00" + client))
	return hex.EncodeToString(sum[:16])
}
