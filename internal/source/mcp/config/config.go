// Package config is the configuration of one MCP server, as an app file gives
// it.
package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/launch"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// The transports that a Config may name. The empty one chooses: Stdio for a
// command, and for a URL HTTP, or SSE when the server turns out to be old.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// LegacyProtocol is the newest version of the protocol with the old handshake.
const LegacyProtocol = "2025-11-25"

// Config is one server. The text of Command, Args, Env, URL, Headers and
// OAuth.ClientSecret may hold {{secret.NAME}}, which stays a reference until
// the server is started or connected.
type Config struct {
	Name      string            `json:"name"` // its tools are the module mcp_<name>
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	EnvAllow  []string          `json:"env_allow,omitempty"` // variables of the kernel that the child inherits too
	Dir       string            `json:"dir,omitempty"`       // the folder that it works for
	InDir     bool              `json:"in_dir,omitempty"`    // it starts there, not in a folder of its own
	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"`
	Protocol  string            `json:"protocol,omitempty"` // the only version to speak; empty: the newest
	Headers   map[string]string `json:"headers,omitempty"`
	OAuth     *OAuth            `json:"oauth,omitempty"`
	Isolation Isolation         `json:"isolation,omitzero"` // of a command

	CallTimeout  time.Duration `json:"call_timeout,omitempty"`  // of a call without progress; default 60 s
	StartTimeout time.Duration `json:"start_timeout,omitempty"` // default 30 s
	IdleStop     time.Duration `json:"idle_stop,omitempty"`     // a server without calls for so long is stopped; 0: never
	Concurrency  int           `json:"concurrency,omitempty"`   // calls at a time; default 8

	Tools map[string]translate.ToolConfig `json:"tools,omitempty"` // by the server's name for the tool, or ours

	Everywhere bool `json:"everywhere,omitempty"` // Dir is the folder of the project that it works for, whichever

	// Project is the folder whose file names a URL: a word on it there is none on the
	// same URL in another folder. Empty: the user's own file names it.
	Project string `json:"project,omitempty"`

	Hide func(string) string `json:"-"` // takes values of the environment out of what is shown; nil: there are none
}

// OAuth is how to log in to a remote server. With the zero value the server
// says where, and a client is registered there.
type OAuth struct {
	ClientID     string   `json:"client_id,omitempty"` // of a registered client; empty: register one now
	ClientSecret string   `json:"client_secret,omitempty"`
	Issuer       string   `json:"issuer,omitempty"`        // that gave the client; empty: whichever the server names
	CallbackPort int      `json:"callback_port,omitempty"` // of http://localhost:PORT/callback; 0: any
	Scopes       []string `json:"scopes,omitempty"`        // default: those that the server asks for
}

// Isolation is what a command is kept from.
type Isolation struct {
	Mode     string   `json:"mode,omitempty"`     // one of the three; empty: Contained
	Network  bool     `json:"network,omitempty"`  // a sandboxed one has the network
	Readable []string `json:"readable,omitempty"` // it sees these too
	Writable []string `json:"writable,omitempty"` // it may write these too
	Relaxed  bool     `json:"relaxed,omitempty"`  // it runs even where this machine cannot isolate it
	// Rules are the files and folders that hold the rules of its app. They are found
	// with the app, so they do not tell one server from another.
	Rules []string `json:"-"`
}

// The modes of isolation. In each, everything that a command starts ends with it.
const (
	Contained = "contained" // without the kernel's state and the user's private folders
	Sandboxed = "sandboxed" // its folder, the system to read, its package cache, and what it declares
	None      = "none"      // as any program of the user's
)

// WithDefaults returns the config with defaults in place of zero values.
func (c Config) WithDefaults() Config {
	if c.CallTimeout == 0 {
		c.CallTimeout = 60 * time.Second
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = 30 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.Transport == "" && c.Command != "" {
		c.Transport = Stdio
	}
	if c.Isolation.Mode == "" && c.Command != "" {
		c.Isolation.Mode = Contained
	}
	return c
}

// Validate reports the first mistake in a config.
func (c Config) Validate() error {
	const op = "mcp.Server"
	bad := func(format string, args ...any) *tool.Error {
		e := tool.Errorf(op, tool.Invalid, format, args...)
		e.Message = "the MCP server " + tool.Truncate(c.Name) + " " + e.Message
		return e
	}
	versions := sdk.SupportedProtocolVersions()
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
	case c.Protocol != "" && !slices.Contains(versions, c.Protocol):
		return bad("has the protocol %q; use one of %s", tool.Truncate(c.Protocol), strings.Join(versions, ", "))
	case c.Transport == SSE && c.Protocol > LegacyProtocol:
		return bad("has the protocol %s, which the transport sse does not know", c.Protocol)
	case c.CallTimeout < 0 || c.StartTimeout < 0 || c.IdleStop < 0 || c.Concurrency < 0:
		return bad("has a negative limit")
	case !slices.Contains([]string{"", Contained, Sandboxed, None}, c.Isolation.Mode):
		return bad("has the isolation %q; use contained, sandboxed or none", tool.Truncate(c.Isolation.Mode))
	case c.InDir && c.Isolation.Mode != Sandboxed:
		return bad("starts in the workspace, so it must be sandboxed")
	case c.OAuth != nil && (c.OAuth.CallbackPort < 0 || c.OAuth.CallbackPort > 65535):
		return bad("has the callback port %d", c.OAuth.CallbackPort)
	}
	if c.URL != "" && !secretref.HasReference(c.URL) {
		if _, err := ParseURL(c.URL); err != nil {
			return bad("has a url that cannot be used: %v", err)
		}
	}
	for _, name := range c.EnvAllow {
		if strings.HasPrefix(name, launch.Reserved) {
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

// validateTool checks the settings of a tool by making a tool with them.
func (c Config) validateTool(name string) error {
	runtime, _ := translate.Definition{Name: name}.Runtime(c.Tools[name])
	nothing := func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil }
	t := tool.Tool{
		ID:      tool.ID{Namespace: translate.Namespace(c.Name), Name: "tool", Version: tool.Version{Major: 1}},
		Spec:    tool.Spec{Description: name, Input: json.RawMessage(`{"type":"object"}`)},
		Runtime: runtime,
		Handler: tool.HandlerFunc(nothing),
	}
	return t.Validate()
}

// ParseURL reads the address of a remote server.
func ParseURL(text string) (*url.URL, error) {
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

// Key is a hash of the whole config: it tells servers apart. Secrets are
// references in it, so their values have no part in it.
func (c Config) Key() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic("mcp: a config is always JSON: " + err.Error()) // every field can be encoded
	}
	return digest(data)
}

// AccountKey names the login of a server. It outlives changes to other
// settings, and two servers at one address have one each.
func (c Config) AccountKey() string {
	client := ""
	if c.OAuth != nil {
		client = c.OAuth.ClientID
	}
	return digest([]byte(c.Name + "\x00" + c.URL + "\x00" + client))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
