package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/route"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

const (
	maxParked = 128 // flights that a guest may leave behind
	maxRefs   = 256 // artifacts that a guest may read again
)

// client is one client.
type client struct {
	host   *endpoint
	name   string
	id     string          // of its connection, where that has one
	ctx    context.Context // ends when it goes
	cancel context.CancelFunc
	idle   *time.Timer

	opening sync.Mutex // guards session and tools
	session *session.Session
	tools   []*sdk.Tool // as it was first shown them
	typed   map[string]json.RawMessage

	mu        sync.Mutex
	suspended []*pendingCall           // left behind, oldest first
	refs      []string                 // artifacts that its results named, oldest first
	minLevel  upstream.Level           // from which on it wants to hear of servers' work
	routes    [kinds]map[string]string // of bare names to servers, as last seen
	made      []route.Item             // templates of resources, as last seen
}

func newClient(h *endpoint, name string) *client {
	g := &client{host: h, name: name}
	g.ctx, g.cancel = context.WithCancel(h.ctx)
	return g
}

// clientName is what a client calls itself, fit for a journal and for others'
// eyes.
func clientName(info *sdk.Implementation) string {
	if info == nil {
		return "mcp client"
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(info.Name, ""))
	if name = strings.TrimSpace(tool.TruncateTo(name, 64)); name == "" {
		return "mcp client"
	}
	return name
}

// touch notes that a guest who is only a name is still about.
func (g *client) touch() {
	if g.idle != nil {
		g.idle.Reset(idleAfter)
	}
}

// open returns the guest's session. One that lay idle for so long that the
// kernel took it for forgotten is opened again.
func (g *client) open(ctx context.Context) (*session.Session, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	return g.openLocked(ctx)
}

func (g *client) openLocked(ctx context.Context) (*session.Session, error) {
	if err := g.ctx.Err(); err != nil {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "this connection is being closed")
	}
	if g.session != nil {
		if _, err := g.host.kernel.Sessions.Get(g.session.ID()); err == nil {
			return g.session, nil
		}
	}
	spec := g.host.opt.Session
	spec.Agent, spec.NoWait = g.name, true
	s, err := g.host.kernel.OpenSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	g.session = s
	return s, nil
}

// close sends the guest away: what it has in flight is cancelled, and on
// record, when close returns.
func (g *client) close() {
	g.cancel()
	if g.idle != nil {
		g.idle.Stop()
	}
	g.opening.Lock()
	defer g.opening.Unlock()
	if g.session != nil {
		g.session.Close()
	}
}

// suspend keeps a flight for a request to come.
func (g *client) suspend(f *pendingCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.suspended, f) {
		return
	}
	if len(g.suspended) >= maxParked {
		g.suspended[0].cancelUnlessWaiting() // its answer is in the journal
		g.suspended = slices.Delete(g.suspended, 0, 1)
	}
	g.suspended = append(g.suspended, f)
}

// removeSuspended forgets a flight whose result was given, and one whose result that was:
// it has been collected.
func (g *client) removeSuspended(f *pendingCall) {
	r := f.end.result
	given := r != nil && r.Status != tool.Waiting
	g.mu.Lock()
	defer g.mu.Unlock()
	g.suspended = slices.DeleteFunc(g.suspended, func(o *pendingCall) bool { return o == f || given && o.isWaitingFor(r.Call) })
}

// findSuspended finds the flight that a request comes back for: the one whose state it
// brings, if it wants the same, or one of the same call when it brings none. It
// is nil when the request comes for none. A state under which nothing waits was
// made up, or used before.
func (g *client) findSuspended(state string, key func() string) (*pendingCall, error) {
	g.mu.Lock()
	parked := slices.Clone(g.suspended)
	g.mu.Unlock()
	parked = slices.DeleteFunc(parked, func(f *pendingCall) bool { return !f.matchesState(state) })
	if len(parked) > 0 {
		want := key()
		for _, f := range parked {
			if f.key() == want && f.attached.CompareAndSwap(false, true) {
				if f.matchesState(state) {
					return f, nil
				}
				f.attached.Store(false) // somebody was faster
			}
		}
	}
	if state != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "nothing waits under this requestState; make the request anew, without it"}
	}
	return nil, nil
}

// level is from which level on the guest wants to hear of servers' work.
func (g *client) level() upstream.Level {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.minLevel
}

// setLogLevel has the servers of a guest's app tell of their work.
func (g *client) setLogLevel(ctx context.Context, level upstream.Level) error {
	s, err := g.open(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.minLevel = level
	g.mu.Unlock()
	g.servers(s).SetLogLevel(ctx, level)
	return nil
}

// servers returns the MCP servers of a session's app.
func (g *client) servers(s *session.Session) servers.Scoped {
	return g.host.kernel.Servers.In(s.Loaded().Scope)
}

// callKey is the same for calls that are the same: the tool, whatever name it
// was called by, and its arguments, however they were written.
func (g *client) callKey(ctx context.Context, name string, args json.RawMessage) string {
	if s, err := g.open(ctx); err == nil {
		if v, err := s.View().Tool(ctx, name); err == nil {
			name = v.ID.String()
		}
	}
	return name + "\x00" + canonical(args)
}

// canonical writes JSON in one way.
func canonical(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return string(raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// allowArtifact notes an artifact that the guest may read from now on.
func (g *client) allowArtifact(ref string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.refs, ref) {
		return
	}
	if len(g.refs) >= maxRefs {
		g.refs = slices.Delete(g.refs, 0, 1)
	}
	g.refs = append(g.refs, ref)
}

func (g *client) artifacts() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refs)
}

// newState makes a name that nobody can guess.
func newState() string { return rand.Text() }
