// Package detach lets a call go on when nobody waits for it any more.
//
// # Law
//
//   - A call is moved to the background at most once, while it runs: by itself, when
//     its tool says so (Mover) and its caller allows it, or by hand. It stays the same
//     call: with its records, of which the end is written when it ends, and with its
//     locks, unless its tool lets others pass while it runs long: then it gives them up.
//   - What the move leaves behind is stored first (Table.Store): a task that waits for
//     the call's end. If it cannot be stored the call stays where it is. So whoever
//     made the call is told either its result or that it goes on, and never both.
//   - A call that was moved does not end with its caller. It ends by itself, when it is
//     cancelled, or with the kernel. A time limit that its tool has for callers who
//     wait no longer counts: see tool.Background.
//   - What a call prints that can be moved is kept (package window), so that it can be
//     shown afterwards.
package detach

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"callgate/internal/journal/outputbus"
	"callgate/internal/journal/outputbus/window"
	"callgate/tool"
)

// Mover is the handler of a tool whose calls go on in the background by themselves.
type Mover interface {
	// MoveAfter returns how long the handler runs before its call goes on in the
	// background; 0: it does not. asked says that the call itself asks for it, so that
	// it happens whoever waits.
	MoveAfter(args json.RawMessage, settings any) (after time.Duration, asked bool)
}

// Notifier is the handler of a tool whose calls say of what output in the background their
// conversation is told.
type Notifier interface {
	// NotifyWhen returns a pattern as package window reads one; "": it is told of none.
	NotifyWhen(args json.RawMessage) string
}

// CommandProcess is a process of a command line. What it is given to read is judged with
// that, and behind what it was given before and is no whole command yet.
type CommandProcess interface {
	tool.Process
	CommandLine() string
	Unfinished() string
}

// Store keeps that a call goes on in the background, and returns what its caller is
// told.
type Store func(ctx context.Context, c *Call) (*tool.Result, error)

// Table holds the calls that run and can be moved. Make one with New.
type Table struct {
	base   context.Context // ends with the kernel
	output *outputbus.Bus
	store  Store

	mu    sync.Mutex
	calls map[string]*Call
}

// New makes a table. base ends with the kernel; output carries what calls print.
func New(base context.Context, output *outputbus.Bus) *Table {
	return &Table{base: base, output: output, calls: map[string]*Call{}}
}

// SetStore sets what keeps the calls that are moved. It is set before the table is
// used; without it no call is moved.
func (t *Table) SetStore(s Store) { t.store = s }

// Options is how a call runs.
type Options struct {
	Movable    bool // its caller allows that it is moved
	Background bool // nobody waits for it from the beginning
	// Keep keeps what the call needs of its session until release is called; may be
	// nil.
	Keep func() (release func())
}

// Begin returns a call that can be moved, or that runs in the background; nil: one that
// ends with its caller. A nil table has none.
func (t *Table) Begin(call tool.Call, of *tool.Tool, o Options) *Call {
	if t == nil {
		return nil
	}
	o.Movable = o.Movable || t.movable(call.Parent)
	_, moves := of.Handler.(Mover)
	if !o.Movable && !o.Background && !moves {
		return nil
	}
	return &Call{
		Call: call, Tool: of, opt: o, table: t,
		detached: make(chan struct{}), done: make(chan struct{}), offered: make(chan struct{}),
	}
}

// movable reports whether a call runs that may be moved: the calls that it makes may
// be, too.
func (t *Table) movable(id string) bool {
	c := t.Find(id)
	return c != nil && c.opt.Movable
}

// Find returns a call that runs; nil: there is none.
func (t *Table) Find(id string) *Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[id]
}

// under returns the calls that can be moved for a call: it, or, of one that the kernel's
// own tool makes, those that it made.
func (t *Table) under(id string) []*Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*Call
	for _, c := range t.calls {
		if c.Tool.Runtime.Control {
			continue
		}
		for at := c; at != nil; at = t.calls[at.Call.Parent] {
			if at.Call.ID == id {
				list = append(list, c)
				break
			}
		}
	}
	return list
}

// Move moves a call of a session to the background, by hand. If it was moved already,
// nothing happens.
func (t *Table) Move(ctx context.Context, session, id string) error {
	const op = "detach.Move"
	var first error
	moved := 0
	for _, c := range t.under(id) {
		if c.Call.Principal.Session != session {
			continue
		}
		err := c.move(ctx)
		if err == nil {
			moved++
		} else if first == nil {
			first = err
		}
	}
	if moved > 0 || first != nil {
		return first
	}
	return tool.Errorf(op, tool.NotFound, "no call %s runs here that could be moved", tool.Truncate(id)).
		WithHint("it may have ended, or wait for a human")
}

func (t *Table) add(c *Call) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[c.Call.ID] = c
	stop := func() {}
	if t.output != nil && !c.Tool.Runtime.Control && !c.opt.Background {
		stop = t.output.Watch(c.Call.ID, c.Output.Write)
	}
	return func() {
		stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.calls[c.Call.ID] == c {
			delete(t.calls, c.Call.ID)
		}
	}
}

// Call is a call that runs. It is what its handler knows of the background.
type Call struct {
	Call   tool.Call
	Tool   *tool.Tool
	Output window.Window // what it printed

	opt      Options
	table    *Table
	detached chan struct{} // closed when nobody waits for it
	done     chan struct{} // closed when it has ended
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	state   state
	moving  chan struct{} // closed when a move has succeeded or failed
	told    *tool.Result  // what the caller of a moved call is told
	result  *tool.Result  // of one that has ended
	process tool.Process  // may be nil
	offered chan struct{} // closed once it had one
	began   time.Time     // when its handler did; zero: it has not
	release func()        // what was kept for a moved call
}

// state is where a call stands.
type state uint8

const (
	waitedFor state = iota // its caller waits
	beingMoved
	moved
	ended
)

var _ tool.Background = (*Call)(nil)
