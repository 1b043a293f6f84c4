//lint:file-ignore SA1019 servers still report their work through logs

package mcp

import (
	"context"
	"encoding/json"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/connector"
	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/requests"
	"callgate/tool"
)

// logs is what the server reports of its work. All of it is kept; and while all
// calls at the server are one client's, that client is sent it too.
type logs struct {
	*identity
	requests  *requests.Table
	connector *connector.Connector[*connection]
	clientFor func(calls []string) Client

	mu    sync.Mutex
	level LogLevel // the lowest that any client wants; empty: none wants any
}

// add keeps a message and passes it on.
func (l *logs) add(p *downstream.Log) {
	data, err := json.Marshal(p.Data)
	if err != nil {
		return
	}
	text := l.secrets.Redact(string(data))
	l.log.Add("log", string(p.Level)+": "+unquoted(text))
	calls := l.requests.Calls()
	if len(calls) == 0 {
		return
	}
	client := l.clientFor(calls)
	if client == nil {
		return
	}
	message := &downstream.Log{Level: p.Level, Logger: l.cfg.Name}
	if p.Logger != "" {
		message.Logger += "/" + l.secrets.Redact(tool.Truncate(p.Logger))
	}
	if message.Data = json.RawMessage(text); !json.Valid([]byte(text)) {
		message.Data = text
	}
	client.Log(message)
}

// unquoted is the text of a JSON string; other JSON stays as it is.
func unquoted(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		return s
	}
	return text
}

// setLevel makes the server report its work from a level on, unless it already
// reports more.
func (l *logs) setLevel(ctx context.Context, level LogLevel) {
	l.mu.Lock()
	lower := downstream.MinLevel(l.level, level)
	changed := lower != l.level
	l.level = lower
	l.mu.Unlock()
	if c := l.connector.Open(); changed && c != nil {
		l.sendLevel(ctx, c.Session)
	}
}

// sendLevel sends the level to a server with the old handshake; with the new
// protocol it goes with each request. If the server rejects it, the error is
// only logged.
func (l *logs) sendLevel(ctx context.Context, session *sdk.ClientSession) {
	l.mu.Lock()
	level := l.level
	l.mu.Unlock()
	server := session.InitializeResult()
	if level == "" || server.ProtocolVersion > config.LegacyProtocol ||
		server.Capabilities == nil || server.Capabilities.Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
	defer cancel()
	if err := session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}); err != nil {
		l.warn("it does not take a level for its logs", err)
	}
}
