// Package deferred makes calls on behalf of an asker who may be gone: those of a task,
// a schedule, a watcher.
//
// # Law
//
//   - A deferred call is judged by the rules in force when it is made, not when it was
//     asked for: it is made in a session that is built for it, from the app file as it
//     is now and from what a human accepts now. One that is denied by now is refused.
//   - It is given no more than its asker had. The profile, the agent's modules and the
//     modules that the asker's client was not given limit it, and so does what the app
//     gives that agent now. Whom the asker works for is asked about it, as about the
//     asker's own calls.
//   - It happens in the asker's folder. A folder that is gone, or whose path leads
//     elsewhere now, is none.
//   - A token that no longer counts has nothing called.
//   - A call that needs a human waits for one, and its asker's own process may answer
//     it no more than before.
//   - A call has an ID that its maker derives from what it keeps, and is made once.
//     One that was made already, by this kernel or an earlier one, is answered with its
//     result. One that began in an earlier process and has no end is in doubt, and is
//     not made again.
package deferred

import (
	"context"
	"errors"
	"sync"

	"callgate/internal/app"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// Gate tells what became of a call.
type Gate interface {
	Outcome(ctx context.Context, call string) (gate.Outcome, *tool.Result, error)
	Collect(ctx context.Context, call string) (*tool.Result, error)
}

// Apps loads the app file of a folder.
type Apps interface {
	Load(ctx context.Context, workspace, file string) (*apps.Loaded, error)
}

// Sessions builds sessions that are never published, of one who works for another with no
// more than it had.
type Sessions interface {
	Build(ctx context.Context, spec session.Spec) (*session.Session, error)
}

// Tokens tells whether a token still counts.
type Tokens interface {
	Check(ctx context.Context, id string) error
}

// Options is what Calls needs of the kernel.
type Options struct {
	Gate     Gate
	Apps     Apps
	Sessions Sessions
	Tokens   Tokens
	// Open returns the session with an ID that is open now, or an error.
	Open func(id string) (*session.Session, error)
	// Settle waits until it is decided what becomes of a call that an earlier process
	// left; nil: it is.
	Settle func(ctx context.Context, call string)
	// Asked is called when a call of a session asks a human, or a human has answered.
	// It must not wait; nil: nobody is told.
	Asked func(session string, r approval.Request)
}

// Calls makes deferred calls. Make one with New.
type Calls struct {
	opt Options

	mu    sync.Mutex
	under map[string]chan struct{} // calls by ID that are being made; closed at their end
}

// New makes a maker of calls.
func New(o Options) *Calls { return &Calls{opt: o, under: map[string]chan struct{}{}} }

const op = "deferred.Call"

// Call makes a call on behalf of an asker, and waits for its end. r.ID is required. If
// ctx ends first the result says so, and what waits for a human goes on waiting.
func (c *Calls) Call(ctx context.Context, asker task.Asker, r gate.CallRequest) *tool.Result {
	if r.ID == "" {
		return failure(r, tool.Errorf(op, tool.Internal, "a deferred call of %s has no ID", tool.Truncate(r.Name)))
	}
	leave, err := c.enter(ctx, r.ID)
	if err != nil {
		return failure(r, err)
	}
	defer leave()
	if made := c.Made(ctx, r.ID); made != nil {
		return made
	}
	s, err := c.open(ctx, asker)
	if err != nil {
		return failure(r, &tool.Error{
			Op: op, Kind: tool.KindOf(err), Err: err,
			Message: tool.Truncate(r.Name) + " was not called: what it needs of the session that asked is gone",
			Hint:    "nothing was run; mend that, and ask for it again",
		})
	}
	defer s.Close()
	return s.Call(ctx, r)
}

// Made returns what became of a call that was made before, once it has ended; nil: it
// was not, and has touched nothing.
func (c *Calls) Made(ctx context.Context, id string) *tool.Result {
	if c.opt.Settle != nil {
		c.opt.Settle(ctx, id)
	}
	r := gate.CallRequest{ID: id}
	outcome, result, err := c.opt.Gate.Outcome(ctx, r.ID)
	switch {
	case err != nil:
		return failure(r, err)
	case outcome == gate.NotStarted:
		return nil
	case outcome == gate.InDoubt:
		return failure(r, session.DoubtError(r.ID))
	case outcome == gate.Pending:
		if result, err = c.opt.Gate.Collect(ctx, r.ID); err != nil {
			return failure(r, err)
		}
	}
	return result
}

// enter lets one maker of a call in at a time. It returns what lets the next one in.
func (c *Calls) enter(ctx context.Context, id string) (leave func(), err error) {
	for {
		c.mu.Lock()
		under := c.under[id]
		if under == nil {
			mine := make(chan struct{})
			c.under[id] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.under, id)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-under:
		case <-ctx.Done():
			return nil, &tool.Error{
				Op: op, Kind: tool.Cancelled, Message: "stopped waiting for call " + id, Err: context.Cause(ctx),
			}
		}
	}
}

// open builds a session like the asker's, by the rules of now.
func (c *Calls) open(ctx context.Context, asker task.Asker) (*session.Session, error) {
	if err := c.checkToken(ctx, asker); err != nil {
		return nil, err
	}
	loaded, err := c.opt.Apps.Load(ctx, asker.Workspace, asker.AppFile)
	if err != nil {
		return nil, err
	}
	if loaded.Workspace != asker.Workspace {
		return nil, tool.Errorf(op, tool.Denied, "the folder %s leads to %s now", tool.Truncate(asker.Workspace),
			tool.Truncate(loaded.Workspace)).
			WithHint("it was asked for in a folder that is no longer there; ask for it again from where it should happen")
	}
	only, err := onlyNow(loaded.App, asker)
	if err != nil {
		return nil, err
	}
	id := asker.Principal.Session
	spec := session.Spec{
		ID: id, Loaded: loaded, Agent: asker.Principal.Agent, Lane: asker.Principal.Lane, Requester: RequesterOf(asker),
		Profile: asker.Profile, Only: only, Off: asker.Off, Again: true,
	}
	if now, err := c.opt.Open(id); err == nil { // it may have been opened again, by another process
		spec.Requester = now.Caller().Requester()
	}
	if c.opt.Asked != nil {
		spec.OnAsked = func(r approval.Request) { c.opt.Asked(id, r) }
	}
	return c.opt.Sessions.Build(ctx, spec)
}

// checkToken returns an error if the asker's token no longer counts.
func (c *Calls) checkToken(ctx context.Context, asker task.Asker) error {
	if asker.Token == "" {
		return nil
	}
	return c.opt.Tokens.Check(ctx, asker.Token)
}

// onlyNow returns what an asker may use: what it was given, as far as the app gives its
// agent that now.
func onlyNow(a *app.App, asker task.Asker) (map[string][]string, error) {
	name := asker.Principal.Agent
	if a == nil || name == "" {
		return asker.Only, nil
	}
	for _, agent := range a.Agents {
		if agent.ID == name {
			return appmode.Intersect(asker.Only, agent.Only()), nil
		}
	}
	if asker.Only != nil && len(a.Agents) > 0 {
		return nil, tool.Errorf(op, tool.NotFound, "the app has no agent %q any more", tool.Truncate(name))
	}
	return asker.Only, nil
}

func failure(r gate.CallRequest, err error) *tool.Result {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: op, Kind: tool.Internal, Message: err.Error(), Err: err}
	}
	result := &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: r.ID}
	if e.Kind == tool.Denied {
		result.Status = tool.Refused
	}
	return result
}
