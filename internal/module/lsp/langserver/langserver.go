// Package langserver runs one language server in the sandbox and speaks with it.
//
// # Law
//
//   - The server reads the workspace, and writes nothing but its cache. It has no network. What
//     it wants changed it proposes; workspace/applyEdit is refused, and no command of it is run.
//   - It is told what is in the files by us, and its answers are bounded: see package jsonrpc.
//   - A server that breaks the protocol, floods or dies is ended, with everything it started, and
//     every call that waits for it says why. Close returns when nothing of it is left.
package langserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"callgate/internal/module/lsp/jsonrpc"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// Options is how a server is run.
type Options struct {
	Name      string            // for people
	Run       sandbox.Spec      // without its standard files
	Languages map[string]string // the names of languages, by the ending of a file
	Settings  any               // its own, which it may ask for; may be nil
	StartTime time.Duration     // for its first answer
	Limits    jsonrpc.Limits
}

// Server is a running server. Make one with Start.
type Server struct {
	options Options
	conn    *jsonrpc.Conn
	stop    context.CancelCauseFunc
	ended   chan struct{} // nothing of it is left
	exit    sandbox.Exit  // when it ended
	runErr  error
	said    *tail
	can     capabilities

	telling   sync.Mutex
	mu        sync.Mutex
	documents map[string]*document // by URI
	used      int                  // counts uses of documents
	published map[string]published // by URI
	kept      int                  // bytes of these
	busy      map[string]bool      // the server's own work, by its token
	news      chan struct{}        // closed when one of these changes
	order     int                  // counts publications
}

// Start starts a server. The context bounds the start alone.
func Start(ctx context.Context, op string, o Options) (*Server, error) {
	stdin, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), toServer.Close()
		return nil, err
	}
	running, stop := context.WithCancelCause(context.Background())
	s := &Server{
		options: o, stop: stop, ended: make(chan struct{}), said: &tail{}, documents: map[string]*document{},
		published: map[string]published{}, busy: map[string]bool{}, news: make(chan struct{}),
	}
	s.conn = jsonrpc.New(fromServer, toServer, o.Limits, jsonrpc.Handler{
		Notification: s.notification, Request: s.request,
	})
	go func() {
		select {
		case <-s.conn.Failed():
			stop(s.conn.Err())
		case <-running.Done():
		}
	}()
	go func() {
		defer close(s.ended)
		spec := o.Run
		spec.Stdin, spec.Stdout, spec.Stderr = stdin, stdout, s.said
		s.exit, s.runErr = sandbox.Run(running, spec)
		for _, f := range []*os.File{stdin, stdout, toServer} {
			_ = f.Close()
		}
		s.conn.Wait() // it reads to the end of what the server wrote
		_ = fromServer.Close()
		stop(nil)
	}()
	limited, cancel := context.WithTimeout(ctx, o.StartTime)
	defer cancel()
	if err := s.initialize(limited); err != nil {
		err = s.Fail(op, limited, err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the server, and returns when nothing of it is left.
func (s *Server) Close() {
	s.stop(context.Canceled)
	<-s.ended
}

// Alive reports whether the server can be asked.
func (s *Server) Alive() bool {
	select {
	case <-s.conn.Failed():
		return false
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Fail turns what went wrong with a request into an error that says what to do next.
func (s *Server) Fail(op string, ctx context.Context, err error) error {
	var known *tool.Error
	var refused *jsonrpc.Error
	var nonsense *jsonrpc.NonsenseError
	name := s.options.Name
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &refused):
		return tool.Errorf(op, tool.Failed, "%s answers: %s", name, Clean(refused.Message, maxMessage)).
			WithHint("check the position and the name; a file with errors may have to be mended first")
	case errors.As(err, &nonsense):
		return tool.Errorf(op, tool.Failed, "%s answered nonsense: %s", name, Clean(err.Error(), maxMessage))
	case errors.Is(context.Cause(ctx), ErrCancelled):
		return tool.Errorf(op, tool.Cancelled, "the request was cancelled by lsp.cancel_request")
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "%s did not answer in time", name).
			WithHint("it may still be reading the project: try again, or have the app file give it longer: " +
				"tools.modules.lsp.config")
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	}
	return s.lost(op, err)
}

// lost says why a server is gone.
func (s *Server) lost(op string, err error) error {
	s.stop(err)
	<-s.ended
	if errors.As(s.runErr, new(*tool.Error)) {
		return s.runErr
	}
	why := cmp.Or(s.ending(err), "it is gone")
	e := tool.Errorf(op, tool.Unavailable, "the language server %s was lost: %s", s.options.Name, why)
	if said := s.said.String(); said != "" {
		e.Message += "; it last said: " + Clean(said, maxMessage)
	}
	return e.WithHint("the next call starts it again; if that fails too, have the user look at the program")
}

func (s *Server) ending(err error) string {
	switch {
	case s.exit.Limit != "":
		return "it took more than its limit of " + s.exit.Limit
	case s.runErr != nil:
		return s.runErr.Error()
	case err != nil && err.Error() != "it ended":
		return err.Error()
	case s.exit.Signal != "":
		return "it was ended by " + s.exit.Signal
	default:
		return fmt.Sprintf("it ended with code %d", s.exit.Code)
	}
}

// ErrCancelled is the cause of a context that lsp.cancel_request ended.
var ErrCancelled = errors.New("the request was cancelled")

// Call asks the server.
func (s *Server) Call(ctx context.Context, method string, params, result any) error {
	for {
		err := s.conn.Call(ctx, method, params, result)
		var refused *jsonrpc.Error
		if !errors.As(err, &refused) || refused.Code != jsonrpc.ContentModified && refused.Code != jsonrpc.ServerCancelled {
			return err
		}
		select { // the server was at something else; it says itself that one should ask again
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryPause):
		}
	}
}

const (
	retryPause = 50 * time.Millisecond
	maxMessage = 1000
)

// Clean makes a text of a server fit to be shown: at most so many bytes, and no control
// characters but newlines and tabs.
func Clean(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	if cut {
		text += "…"
	}
	return strings.TrimSpace(text)
}

// tail keeps the end of what a server writes to its standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 2 << 10

// Write keeps the end.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// String is the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// initialize is the beginning of every conversation with a server.
func (s *Server) initialize(ctx context.Context) error {
	root := URI(s.options.Run.Workspace)
	params := map[string]any{
		"processId": nil, "clientInfo": map[string]any{"name": "callgate"}, "rootUri": root,
		"rootPath":         s.options.Run.Workspace,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "workspace"}},
		"capabilities":     json.RawMessage(ours), "initializationOptions": s.options.Settings,
	}
	var answer struct {
		Capabilities capabilities `json:"capabilities"`
	}
	if err := s.conn.Call(ctx, "initialize", params, &answer); err != nil {
		return err
	}
	s.can = answer.Capabilities
	if err := s.conn.Notify(ctx, "initialized", struct{}{}); err != nil {
		return err
	}
	return s.conn.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": s.options.Settings})
}

// Name is the server's, for people.
func (s *Server) Name() string { return s.options.Name }
