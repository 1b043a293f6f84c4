// Package session is a client's open context at a kernel: a workspace, an app
// and a caller. Law: a session is whole before anybody can find it, ends once,
// and ends after its last call.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/hooks"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/skillruns"
	"callgate/internal/kernel/toolview"
	"callgate/tool"
)

// Gate is what a session calls.
type Gate interface {
	Call(ctx context.Context, c *gate.Caller, r CallRequest) *tool.Result
	CallAll(ctx context.Context, c *gate.Caller, r []gate.CallRequest, done func(int, *tool.Result)) []*tool.Result
	Outcome(ctx context.Context, call string) (gate.Outcome, *tool.Result, error)
	Collect(ctx context.Context, call string) (*tool.Result, error)
}

// Session makes calls in one workspace, under one app's rules.
type Session struct {
	id     string
	now    atomic.Pointer[state]
	again  func(context.Context, *apps.Loaded) (*state, error) // makes the state of an app that was read again
	mode   *appmode.Current
	gate   Gate
	base   context.Context // ends with the kernel
	use    *use
	guards func() gate.Hooks // of whom it works for; nil: none
	skills *skillruns.Table
	token  func(ctx context.Context, id string) error // see Builder

	reloaded atomic.Pointer[func()] // see OnReload
}

// state is what a session has of its app files. It never changes: a reload puts another in its place, and calls
// that have begun go on with theirs.
type state struct {
	loaded   *apps.Loaded
	warnings []string
	caller   *gate.Caller
	view     *toolview.View
	limits   Limits
	hooks    *hooks.Set // nil: none
	latest   *latest    // what the files say now
}

// end ends the hooks of a state that no call is made in any more.
func (s *state) end() {
	s.hooks.End()
	s.latest.end()
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.id }

// App returns the session's app; nil without an app file.
func (s *Session) App() *app.App { return s.Loaded().App }

// Loaded returns the app as the session has it.
func (s *Session) Loaded() *apps.Loaded { return s.now.Load().loaded }

// Hooks returns the session's hooks; nil: none.
func (s *Session) Hooks() *hooks.Set { return s.now.Load().hooks }

// Guards are the hooks around the session's calls: its own, and those of whom it works for;
// above leaves its own out. Nil: none.
func (s *Session) Guards(above bool) gate.Hooks {
	own := s.Hooks().Calls()
	if above {
		own = nil
	}
	return guarded(own, s.guards)
}

// Warnings is what the session's user should know of its app.
func (s *Session) Warnings() []string { return s.now.Load().warnings }

// Caller returns on whose behalf the session calls.
func (s *Session) Caller() *gate.Caller { return s.now.Load().caller }

// View returns the tools as the session sees them.
func (s *Session) View() *toolview.View { return s.now.Load().view }

// Limits is what a session is given less than its app has.
type Limits struct {
	Profile string
	Only    map[string][]string // see gate.Rules; of an agent, and nil with a profile
	Off     []string            // modules
}

// Limits returns what the session is given less than its app has, in the mode that it is
// in now. What it begins in a state of a skill has that state's limit, too.
func (s *Session) Limits() Limits {
	limits := s.now.Load().limits
	limits.Only = appmode.Intersect(limits.Only, s.mode.Get().Only)
	limits.Only = appmode.Intersect(limits.Only, s.skills.Only(s.id))
	return limits
}

// Workspace returns the session's folder.
func (s *Session) Workspace() string { return s.Loaded().Workspace }

// Principal returns who calls.
func (s *Session) Principal() tool.Principal { return s.Caller().Principal() }

// PID is the process on whose behalf calls are made.
func (s *Session) PID() int { return s.Caller().Requester().PID }

// CanAnswer reports whether the session's own process may answer what it asks.
func (s *Session) CanAnswer() bool { return s.Caller().Requester().Human }

// Call makes a call and waits for its end, and for a human where one is asked.
// What goes wrong is part of the result. The call ends with ctx, or with the
// kernel.
func (s *Session) Call(ctx context.Context, r CallRequest) *tool.Result {
	ctx, release, err := s.Enter(ctx)
	if err != nil {
		return &tool.Result{Status: tool.Failure, Summary: err.Error(), Error: err}
	}
	defer release()
	return s.gate.Call(ctx, s.Caller(), r)
}

// CallAll makes the calls of one batch: see gate.CallAll. It ends with ctx, or
// with the kernel.
func (s *Session) CallAll(ctx context.Context, requests []CallRequest, done func(int, *tool.Result)) []*tool.Result {
	ctx, release, err := s.Enter(ctx)
	if err != nil {
		results := make([]*tool.Result, len(requests))
		for i := range results {
			results[i] = &tool.Result{Status: tool.Failure, Summary: err.Error(), Error: err}
		}
		return results
	}
	defer release()
	return s.gate.CallAll(ctx, s.Caller(), requests, done)
}

// Outcome returns the state of a call after a restart.
func (s *Session) Outcome(ctx context.Context, call string) (gate.Outcome, *tool.Result, error) {
	return s.gate.Outcome(ctx, call)
}

// Collect returns the result of a call that was left waiting, once it ended.
func (s *Session) Collect(ctx context.Context, call string) (*tool.Result, error) {
	return s.gate.Collect(ctx, call)
}

// Enter keeps the session open until release is called. The context that it
// returns ends with ctx, or with the kernel, which is then its cause.
func (s *Session) Enter(ctx context.Context) (entered context.Context, release func(), err *tool.Error) {
	if !s.use.enter() {
		return nil, nil, tool.Errorf("session.Call", tool.Unavailable, "session %s has ended", s.id).
			WithHint("open a new one")
	}
	if err := s.checkToken(ctx); err != nil {
		s.use.leave()
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.base, func() { cancel(history.KernelClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.use.leave()
	}, nil
}

// checkToken refuses what is asked with a token that counts no more: it may have expired, or been revoked, while
// a turn was under way.
func (s *Session) checkToken(ctx context.Context) *tool.Error {
	id := s.Caller().Requester().Token
	if id == "" || s.token == nil {
		return nil
	}
	err := s.token(ctx, id)
	if e := (*tool.Error)(nil); err == nil || errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: "session.Call", Kind: tool.Internal, Message: "the token cannot be checked", Err: err}
}

// Close ends the session once its calls have ended. Calls that wait for a human
// go on waiting.
func (s *Session) Close() { s.use.end() }

// setUp makes the calls that an app's modules ask for when a session opens, if a
// human has accepted them. The kernel makes them itself. A step that fails is a
// warning for the session's user, and the rest goes on.
func (s *Session) setUp(ctx context.Context, secrets modules.Secrets) {
	st := s.now.Load()
	if st.loaded.App == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.base, cancel)()
	daemon := st.caller.AsDaemon()
	for _, m := range st.loaded.App.Modules {
		for _, step := range m.Setup {
			if !st.loaded.Accepted.Has(consent.Step(st.loaded.App, m, step)) {
				continue
			}
			name := m.Name + "." + step.Action
			params, err := modules.ExpandSecrets(secrets, step.Params)
			var args json.RawMessage
			if err == nil {
				args, err = json.Marshal(params)
			}
			if err == nil {
				err = s.gate.Call(ctx, daemon, gate.CallRequest{Name: name, Args: args}).Err()
			}
			if err != nil {
				text := st.loaded.App.Hide(err.Error())
				st.warnings = append(st.warnings, fmt.Sprintf("the setup step %s failed: %s", name, text))
			}
		}
	}
}

// CallRequest is one proposal: see gate.CallRequest.
type CallRequest = gate.CallRequest

// NewCallID makes the ID of a call, for a face that must know it before the call
// is made.
func NewCallID() string { return gate.NewID() }
