// Package acp speaks the Agent Client Protocol, so that editors drive the agents of an
// app: an editor starts callgate acp, and reads and writes JSON-RPC on its standard output
// and input.
//
// # Law
//
// A session of the protocol is a conversation of the kernel, under the same ID. An editor
// is a client like the chat: it reaches the kernel through internal/client alone, and what
// its human says yes to is answered as the form of a client, for this conversation's own
// calls and no others. One turn of a session runs at a time. What a turn says is shown in
// the order in which it happened, and all of it before the prompt is answered.
//
// The SDK of the protocol is used here and nowhere else.
package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/client"
	"callgate/internal/version"
	"callgate/tool"
)

// Options is what an editor is served with.
type Options struct {
	Client  *client.Client
	AppFile string // empty: the one of each session's folder
	Agent   string // empty: the app's entry agent
}

// Serve serves one editor until its stream, or ctx, ends. Its conversations are closed
// then: a turn that runs is interrupted, and can be resumed.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	a := newAgent(ctx, o)
	defer a.close()
	a.connect(sdk.NewAgentSideConnection(a, out, in))
	select {
	case <-a.editor.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect gives the agent the connection on which it was made known. Requests that came
// in before wait for it.
func (a *agent) connect(c *sdk.AgentSideConnection) {
	c.SetLogger(slog.New(slog.DiscardHandler)) // standard error is the editor's log; it gets what matters in answers
	a.editor = c
	close(a.connected)
}

// protocolError makes an error that an editor shows: what was wrong, and what to do next.
func protocolError(err error) error {
	var e *tool.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	text := e.Message
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	code := -32603 // internal
	switch e.Kind {
	case tool.Invalid, tool.NotFound, tool.Conflict:
		code = -32602 // params
	case tool.Cancelled:
		code = -32800
	}
	return &sdk.RequestError{Code: code, Message: text, Data: map[string]any{"kind": string(e.Kind)}}
}

// Initialize says what is spoken here.
func (a *agent) Initialize(_ context.Context, r sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = "an editor"
	if r.ClientInfo != nil && r.ClientInfo.Name != "" {
		a.client = r.ClientInfo.Name
		if r.ClientInfo.Title != nil && *r.ClientInfo.Title != "" {
			a.client = *r.ClientInfo.Title
		}
	}
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, // the client leaves if it does not speak it
		AgentInfo:       &sdk.Implementation{Name: "callgate", Title: sdk.Ptr("Callgate"), Version: version.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
				Close: &sdk.SessionCloseCapabilities{},
			},
		},
	}, nil
}

// Authenticate has nothing to do: the kernel knows its user by the connection.
func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}
