package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
)

// Config is one server as an app file configures it.
type Config = config.Config

// Isolation is what a command is kept from.
type Isolation = config.Isolation

// The modes of isolation.
const (
	Contained = config.Contained
	Sandboxed = config.Sandboxed
)

// OAuth is how to log in to a remote server.
type OAuth = config.OAuth

// The transports that a Config may name.
const (
	Stdio = config.Stdio
	HTTP  = config.HTTP
	SSE   = config.SSE
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

// LogLevel is the severity from which on a server sends logs.
type LogLevel = downstream.Level

// Client is the client on whose behalf a request is made.
type Client = downstream.Client

// Logins keeps the logins to remote servers.
type Logins = oauth.Store

// Options is what a Manager needs of the kernel. The zero value works: then
// nothing is kept between runs, and no secret is known.
type Options struct {
	Cache   string        // folder of what servers listed; empty: not kept
	Logins  Logins        // nil: kept in memory
	Version string        // of Callgate, as servers see it
	Grace   time.Duration // how long a stopped server may take to end, twice; default 2 s

	Machine isolation.Machine // what local servers are isolated from

	Secret func(name string) (string, error)
	Scrub  func(string) string // removes secrets from what is shown
	Log    *slog.Logger
	// Check reports a schema that is not valid; nil: every object is.
	Check func(schema json.RawMessage) error
	// StoreArtifact stores bytes that no model can read; nil: they are left out.
	StoreArtifact func(ctx context.Context, data []byte) (ref string, err error)

	// OnToolsChanged is called when a server's tools are no longer what Tools
	// last returned. It must not wait for the server.
	OnToolsChanged func(*Server)
	// Vet returns the definitions that may be published. It is called each time
	// that Tools is.
	Vet func(*Server, []Definition) []Definition
	// Items decides what is shown of resources and prompts; nil: everything.
	Items ItemGuard
	// MayStart refuses, with an error, to run a server's command or to contact a
	// remote server.
	MayStart func(*Server) error
	// ClientFor finds the client on whose behalf a server works, by the calls
	// that the server works on, when all of them are one client's. It returns nil
	// when there is no such client.
	ClientFor func(calls []string) Client
}
