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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate"
	"callgate/tool"
)

const (
	mostParked = 128 // flights that a guest may leave behind
	mostRefs   = 256 // artifacts that a guest may read again
)

// guest is one client.
type guest struct {
	host   *host
	name   string
	id     string          // of its connection, where that has one
	ctx    context.Context // ends when it goes
	cancel context.CancelFunc
	idle   *time.Timer

	opening sync.Mutex // guards session and tools
	session *callgate.Session
	tools   []*sdk.Tool // as it was first shown them
	typed   map[string]json.RawMessage

	mu     sync.Mutex
	parked []*flight // left behind, oldest first
	refs   []string  // artifacts that its results named, oldest first
}

func newGuest(h *host, name string) *guest {
	g := &guest{host: h, name: name}
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
	if name = strings.TrimSpace(tool.ClipTo(name, 64)); name == "" {
		return "mcp client"
	}
	return name
}

// seen notes that a guest who is only a name is still about.
func (g *guest) seen() {
	if g.idle != nil {
		g.idle.Reset(idleAfter)
	}
}

// open returns the guest's session. One that lay idle for so long that the
// kernel took it for forgotten is opened again.
func (g *guest) open(ctx context.Context) (*callgate.Session, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	return g.openLocked(ctx)
}

func (g *guest) openLocked(ctx context.Context) (*callgate.Session, error) {
	if err := g.ctx.Err(); err != nil {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "this connection is being closed")
	}
	if g.session != nil {
		if _, err := g.host.kernel.Session(g.session.ID); err == nil {
			return g.session, nil
		}
	}
	c := g.host.opt.Session
	c.Agent, c.NoWait, c.Began = g.name, true, g.host.Began
	s, err := g.host.kernel.OpenSession(ctx, c)
	if err != nil {
		return nil, err
	}
	g.session = s
	return s, nil
}

// close sends the guest away: what it has in flight is cancelled, and on
// record, when close returns.
func (g *guest) close() {
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

// park keeps a flight for a request to come.
func (g *guest) park(f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.parked, f) {
		return
	}
	if len(g.parked) >= mostParked {
		g.parked = slices.Delete(g.parked, 0, 1) // its answer is in the journal
	}
	g.parked = append(g.parked, f)
}

// unpark forgets a flight whose result was given.
func (g *guest) unpark(f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.parked, f); i >= 0 {
		g.parked = slices.Delete(g.parked, i, i+1)
	}
}

// takeUp finds the flight that a request comes back for: the one whose state it
// brings, or one of the same call; nil when it comes for none.
func (g *guest) takeUp(ctx context.Context, p *sdk.CallToolParamsRaw) *flight {
	g.mu.Lock()
	none := len(g.parked) == 0
	g.mu.Unlock()
	if none {
		return nil
	}
	key := g.callKey(ctx, p.Name, p.Arguments)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, byState := range []bool{true, false} {
		for _, f := range g.parked {
			if f.key() == key && (!byState || f.state == p.RequestState) && f.attended.CompareAndSwap(false, true) {
				return f
			}
		}
	}
	return nil
}

// callKey is the same for calls that are the same: the tool, whatever name it
// was called by, and its arguments, however they were written.
func (g *guest) callKey(ctx context.Context, name string, args json.RawMessage) string {
	if s, err := g.open(ctx); err == nil {
		if v, err := s.Tool(ctx, name); err == nil {
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

// named notes an artifact that the guest may read from now on.
func (g *guest) named(ref string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.refs, ref) {
		return
	}
	if len(g.refs) >= mostRefs {
		g.refs = slices.Delete(g.refs, 0, 1)
	}
	g.refs = append(g.refs, ref)
}

func (g *guest) artifacts() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refs)
}

// newState makes a name that nobody can guess.
func newState() string { return rand.Text() }
