package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// ReadRequest is one thing that is read of a server beside its tools: a resource by
// its address, or a prompt by its name.
type ReadRequest struct {
	Call   string         // the id under which it is on record; empty: it has none yet
	By     tool.Principal // on whose behalf
	URI    string
	Prompt string
	Args   map[string]string // of the prompt
}

// ReadResult is how a reading ended.
type ReadResult struct {
	Size int // bytes of the answer
	Took time.Duration
	Err  error
}

// method is what the protocol calls it.
func (r ReadRequest) method() string {
	if r.Prompt != "" {
		return "prompts/get"
	}
	return "resources/read"
}

// Read reads one thing, as the protocol writes it. It is on record before it is
// handed out.
func (s *Server) Read(ctx context.Context, r ReadRequest) (json.RawMessage, error) {
	began := time.Now()
	raw, err := s.read(ctx, r)
	if tell := s.hub.opt.OnRead; tell != nil {
		if untold := tell(s, r, ReadResult{len(raw), time.Since(began), err}); untold != nil && err == nil {
			return nil, untold
		}
	}
	return raw, err
}

// ReadResource reads one resource for whoever holds the kernel.
func (s *Server) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	return s.Read(ctx, ReadRequest{URI: uri})
}

// GetPrompt fills in one prompt for whoever holds the kernel.
func (s *Server) GetPrompt(ctx context.Context, name string, args map[string]string) (json.RawMessage, error) {
	return s.Read(ctx, ReadRequest{Prompt: name, Args: args})
}

func (s *Server) read(ctx context.Context, r ReadRequest) (json.RawMessage, error) {
	var res any
	err := s.requestRounds(ctx, request{method: r.method(), call: r.Call}, func(ctx context.Context, c *sdk.ClientSession, in inputRound) (reply, error) {
		if r.Prompt != "" {
			got, err := c.GetPrompt(ctx, &sdk.GetPromptParams{Meta: in.meta, Name: r.Prompt, Arguments: r.Args, InputResponses: in.answers, RequestState: in.state})
			if err != nil {
				return reply{}, err
			}
			res = got
			return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
		}
		got, err := c.ReadResource(ctx, &sdk.ReadResourceParams{Meta: in.meta, URI: r.URI, InputResponses: in.answers, RequestState: in.state})
		if err != nil {
			return reply{}, err
		}
		res = got
		return reply{got.NeedsInput(), got.InputRequests, got.RequestState}, nil
	})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBytes {
		return nil, tool.Errorf("mcp."+r.method(), tool.Failed, "the MCP server %s answered with %d bytes; the most is %d", s.cfg.Name, len(raw), maxBytes)
	}
	return raw, nil
}

// leaveTime is how long a server may take to hear that nobody wants to know of a
// resource any more.
const leaveTime = 5 * time.Second

// Subscribe has told called whenever a resource changes, until stop is. It must
// not wait. A server that was started again is asked again, and what it may have
// changed meanwhile counts as changed.
func (s *Server) Subscribe(ctx context.Context, uri string, told func()) (stop func(), err error) {
	ask := func(ctx context.Context) error {
		var silent error
		err := s.request(ctx, request{method: "resources/subscribe"}, func(ctx context.Context, c *sdk.ClientSession) error {
			if !supportsSubscribe(c) {
				silent = tool.Errorf("mcp.subscribe", tool.Invalid, "the MCP server %s does not tell of changes", s.cfg.Name).WithHint("read the resource again when it matters")
				return nil
			}
			return c.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
		})
		return cmp.Or(err, silent)
	}
	take, err := s.watches.Add(ctx, uri, told, ask, func() { s.unsubscribe(uri) })
	if err != nil {
		return nil, err
	}
	return func() { s.hub.background(take) }, nil
}

// unsubscribe tells a server that runs that nobody wants to know of a resource.
func (s *Server) unsubscribe(uri string) {
	s.conn.mu.Lock()
	l := s.conn.current
	s.conn.mu.Unlock()
	if l == nil || l.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, leaveTime)
	defer cancel()
	if err := l.session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri}); err != nil && l.ctx.Err() == nil {
		s.note("it could not be told that nobody watches "+tool.Truncate(uri), err)
	}
}

// resubscribe asks a new link for what the ones before it were asked for.
func (s *Server) resubscribe(l *connection) {
	for _, uri := range s.watches.URIs() {
		if !supportsSubscribe(l.session) {
			return
		}
		ctx, cancel := context.WithTimeout(l.ctx, s.cfg.CallTimeout)
		err := l.session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
		cancel()
		if err != nil {
			s.note("it does not tell of "+tool.Truncate(uri)+" any more", err)
			continue
		}
		s.watches.Notify(uri)
	}
}

// supportsSubscribe reports whether a server tells of changed resources.
func supportsSubscribe(c *sdk.ClientSession) bool {
	caps := c.InitializeResult().Capabilities
	return caps != nil && caps.Resources != nil && caps.Resources.Subscribe
}
