package callgate

import (
	"context"
	"encoding/json"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/search"
	"callgate/llm"
	"callgate/tool"
)

// SessionConfig says where a session works, and for whom.
type SessionConfig struct {
	Workspace string // a folder; required
	AppFile   string // default: callgate.yaml in the workspace, when there is one
	Agent     string // the name of who calls, for the journal
	// NoWait has no call wait for a human: it is answered with status
	// tool.Waiting, runs when it is approved, and Collect returns its result.
	NoWait bool
	// OnApproval is called when a call waits for a human. It must not wait
	// itself; nil: see Approvals.Watch.
	OnApproval func(Approval)
}

// OpenSession opens a session.
func (k *Kernel) OpenSession(ctx context.Context, c SessionConfig) (*Session, error) {
	requester, err := k.k.Requester(0, "")
	if err != nil {
		return nil, err
	}
	spec := session.Spec{
		Workspace: c.Workspace, AppFile: c.AppFile, Agent: c.Agent, NoWait: c.NoWait, Requester: requester,
	}
	if c.OnApproval != nil {
		spec.OnAsked = func(r approval.Request) {
			if r.State == approval.Pending {
				c.OnApproval(approvalOf(r))
			}
		}
	}
	s, err := k.k.OpenSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Session{k.k, s}, nil
}

// Session makes calls in one workspace, under one app's rules.
type Session struct {
	k *kernel.Kernel
	s *session.Session
}

// ID returns the session's ID.
func (s *Session) ID() string { return s.s.ID() }

// Workspace returns the session's folder.
func (s *Session) Workspace() string { return s.s.Workspace() }

// Warnings is what the session's user should know of its app: rules that name
// nothing, tools that could not be loaded.
func (s *Session) Warnings() []string { return s.s.Warnings() }

// App is the app of a session.
type App struct {
	ID, Name string
	File     string   // empty: there is no app file
	Agents   []string // the agents that it declares
	Pending  string   // what it would do by itself and no human has accepted yet
}

// App returns the session's app. Without an app file it has an ID only.
func (s *Session) App() App {
	app := App{ID: s.s.Loaded().AppID(), Pending: s.k.PendingConsent(s.s)}
	if a := s.s.App(); a != nil {
		app.Name, app.File = a.Name, a.Path
		for _, agent := range a.Agents {
			app.Agents = append(app.Agents, agent.ID)
		}
	}
	return app
}

// Close ends the session once its calls have ended. Calls that wait for a human
// go on waiting.
func (s *Session) Close() { s.s.Close() }

// Call makes a call and waits for its end, and for a human where one is asked.
// The result is never nil: what goes wrong, in the tool or in the kernel, is in
// it. The call ends with ctx, or with the kernel.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) *tool.Result {
	return s.Do(ctx, Call{Name: name, Args: args})
}

// Call is one proposal.
type Call struct {
	// ID is the call's own, for a program that must find the call again after a
	// crash; it must be used once. Empty: the kernel makes one.
	ID     string
	Name   string
	Args   json.RawMessage
	Parent string
	NoWait bool // see SessionConfig
}

func (c Call) request() session.CallRequest {
	return session.CallRequest{ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.Parent, NoWait: c.NoWait}
}

// Do makes a call as it is described.
func (s *Session) Do(ctx context.Context, c Call) *tool.Result { return s.s.Call(ctx, c.request()) }

// DoAll makes calls side by side and returns their results in order. Calls that
// touch the same thing happen in order.
func (s *Session) DoAll(ctx context.Context, calls []Call) []*tool.Result {
	return s.s.CallAll(ctx, each(calls, Call.request), nil)
}

// Collect returns the result of a call that was left waiting, once it has ended.
func (s *Session) Collect(ctx context.Context, call string) (*tool.Result, error) {
	return s.s.Collect(ctx, call)
}

// Tool is a tool as a session sees it.
type Tool struct {
	tool.Spec
	ID         tool.ID
	Risk       tool.Risk
	SideEffect tool.SideEffect
	Approve    bool   // a human is asked before it runs
	Reason     string // why it may be called, or why a human is asked
}

func toolOf(t toolview.Tool) Tool {
	out := Tool{
		Spec: t.Spec, ID: t.ID, Risk: t.Runtime.Risk, SideEffect: t.Runtime.SideEffect,
		Approve: t.Decision.Verdict == "approve", Reason: t.Decision.Reason,
	}
	out.Name = t.ID.Dotted()
	return out
}

// Tools returns the tools that the session may call, by name.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	list, err := s.s.View().List(ctx)
	return each(list, toolOf), err
}

// Tool returns the one tool that a name, in any spelling, means.
func (s *Session) Tool(ctx context.Context, name string) (Tool, error) {
	t, err := s.s.View().Tool(ctx, name)
	if err != nil {
		return Tool{}, err
	}
	return toolOf(t), nil
}

// Search asks for tools by what is meant, in any language. Several queries are
// answered one by one; with none, the tools are listed by name.
type Search struct {
	Queries       []string
	Modules, Tags []string
	MaxRisk       tool.Risk
	Limit, Offset int
}

// SearchResult is the answer to a Search.
type SearchResult struct {
	Answers   []SearchAnswer
	Unmatched []string // queries that nothing answers well
	Degraded  string   // why only keywords were compared
}

// SearchAnswer is what one query found, best first.
type SearchAnswer struct {
	Query string
	Total int
	Hits  []SearchHit
}

// SearchHit is one tool that was found, and why.
type SearchHit struct {
	Tool
	Score float64
	Why   string
}

// Search finds tools that the session may call.
func (s *Session) Search(ctx context.Context, q Search) (*SearchResult, error) {
	found, err := s.s.View().Search(ctx, search.Request{
		Queries: q.Queries, Limit: q.Limit, Offset: q.Offset,
		Filter: search.Filter{Modules: q.Modules, Tags: q.Tags, MaxRisk: q.MaxRisk},
	})
	if err != nil {
		return nil, err
	}
	result := &SearchResult{Unmatched: found.Unmatched, Degraded: found.Degraded}
	for _, a := range found.Answers {
		answer := SearchAnswer{Query: a.Query, Total: a.Total}
		for _, h := range a.Hits {
			answer.Hits = append(answer.Hits, SearchHit{toolOf(s.s.View().Of(h.Tool)), h.Score, h.Why()})
		}
		result.Answers = append(result.Answers, answer)
	}
	return result, nil
}

// SurfaceConfig is how a program's own model is to be shown the tools.
type SurfaceConfig struct {
	Mode   string // direct, compact_direct or discovery; empty: as the app says, else by the budget
	Window int    // tokens of the model's window; 0: as the app says
}

// Surface is the tools as a model is shown them, for a program that runs a model
// of its own. It stays the same for the life of the session.
type Surface struct {
	Mode   string
	Tools  []llm.ToolDef
	Tokens int // about, of all of it
}

// Surface returns the tools as a model is to be shown them.
func (s *Session) Surface(ctx context.Context, c SurfaceConfig) (*Surface, error) {
	plan, err := s.s.View().Surface(ctx, toolview.SurfaceConfig{Mode: c.Mode, Window: c.Window})
	if err != nil {
		return nil, err
	}
	shown := &Surface{Mode: string(plan.Mode), Tokens: plan.ShownTokens}
	for _, e := range plan.Shown {
		shown.Tools = append(shown.Tools, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
	}
	return shown, nil
}
