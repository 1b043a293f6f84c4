package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent"
	"callgate/internal/agent/surface"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/toolview"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// conversationRoutes opens conversations and runs their turns.
type conversationRoutes struct{ *api }

func (a *conversationRoutes) routes() map[string]route {
	return map[string]route{
		protocol.RouteOpenConversation:   a.openConversation,
		protocol.RouteConversations:      a.conversations,
		protocol.RouteConversation:       a.history,
		protocol.RouteDeleteConversation: a.deleteConversation,
		protocol.RouteSendMessage:        a.sendMessage,
		protocol.RouteResumeTurn:         a.resumeTurn,
		protocol.RouteCancelTurn:         a.cancelTurn,
		protocol.RouteCompact:            a.compact,
		protocol.RoutePrompt:             a.prompt,
		protocol.RoutePlan:               a.plan,
		protocol.RouteEvents:             a.conversationEvents,
	}
}

func (a *conversationRoutes) openConversation(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenConversation
	if err := read(r, &o); err != nil {
		return err
	}
	spec, err := a.sessionSpec(r, o.OpenSession)
	if err != nil {
		return err
	}
	c, err := a.kernel.Conversations.Open(r.Context(), conversation.Spec{
		Resume: o.Resume, Workspace: spec.Workspace, Named: o.WorkspaceNamed, AppFile: spec.AppFile,
		Agent: spec.Agent, Lane: spec.Lane, Requester: spec.Requester,
	})
	if err != nil {
		return err
	}
	model, plan := c.Model(), c.Plan()
	opened := protocol.Conversation{
		Session: a.sessionDTO(c.Session()), Agent: c.Agent().ID, Provider: model.Provider, Model: model.Model,
		Offline: model.Offline, Window: model.Window, Native: model.NativeTools,
		Mode: string(plan.Mode), Tools: len(plan.PerTool), Info: wire.ConversationInfo(c.Info()),
	}
	if app := c.Session().App(); app != nil {
		opened.OneShot = app.Runtime.Mode == "one_shot"
		for _, s := range app.Skills {
			opened.Skills = append(opened.Skills, protocol.Skill{Command: s.Command, Description: s.Description})
		}
	}
	return answer(w, opened)
}

// conversation returns the open conversation that a request acts in; only the
// process that opened it may.
func (a *conversationRoutes) conversation(r *http.Request) (*conversation.Conversation, error) {
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return c, checkOwner(c.Session(), r)
}

func (a *conversationRoutes) sendMessage(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.SendMessage
	if err := read(r, &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return tool.Errorf("httpapi.say", tool.Invalid, "there is nothing to say").WithHint("write what the agent should do")
	}
	return a.turn(w, r, c, func(ctx context.Context, watch conversation.Watch) (history.End, error) {
		return c.Send(ctx, llm.TextMessage(llm.User, in.Text), watch)
	})
}

func (a *conversationRoutes) resumeTurn(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	return a.turn(w, r, c, c.Resume)
}

// turn runs a turn and reports it as it goes. A client that goes away stops it.
func (a *conversationRoutes) turn(
	w http.ResponseWriter, r *http.Request, c *conversation.Conversation,
	run func(context.Context, conversation.Watch) (history.End, error),
) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	to := http.NewResponseController(w)
	s := &turnStream{enc: json.NewEncoder(w), flush: func() error {
		_ = to.SetWriteDeadline(time.Now().Add(writeTimeout)) // for the next; not every connection has one
		return to.Flush()
	}, broken: cancel}
	_ = to.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/x-ndjson")
	output := a.kernel.Output.Subscribe(ctx)
	var printing sync.WaitGroup
	done := make(chan struct{})
	printing.Go(func() { s.outputs(output, done, c.ID()+"-") })
	end, err := run(ctx, conversation.Watch{
		Observer: s.watch(), Asked: func(q approval.Request) {
			a := wire.Approval(q)
			s.send(protocol.TurnEvent{Approval: &a})
		},
	})
	close(done)
	printing.Wait()
	if err != nil {
		var e *tool.Error
		if !errors.As(err, &e) {
			e = &tool.Error{Op: "httpapi.turn", Kind: tool.Internal, Message: err.Error()}
		}
		if !s.begun() {
			return e
		}
		s.send(protocol.TurnEvent{Failure: e})
		return nil
	}
	s.send(protocol.TurnEvent{End: &protocol.TurnEnd{
		HistoryEnd: wire.HistoryEnd(end), Info: wire.ConversationInfo(c.Info()),
	}})
	return nil
}

// writeTimeout is how long a client may leave what it is told unread before the turn
// is stopped: nobody watches it.
const writeTimeout = 30 * time.Second

// turnStream writes what happens, one line each, from whatever goroutine.
type turnStream struct {
	mu      sync.Mutex
	enc     *json.Encoder
	flush   func() error
	broken  func()
	started bool
}

func (s *turnStream) send(m protocol.TurnEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	if s.enc.Encode(m) != nil || s.flush() != nil {
		s.broken() // nobody listens any more
	}
}

func (s *turnStream) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

func (s *turnStream) watch() agent.Observer {
	return agent.Observer{
		Delta: func(d llm.Delta) { s.send(protocol.TurnEvent{Delta: &d}) },
		Event: func(e history.Event) {
			event := wire.HistoryEvent(e)
			s.send(protocol.TurnEvent{Event: &event})
			if e.Compaction != nil && e.Compaction.Warning != "" {
				s.send(protocol.TurnEvent{Notice: e.Compaction.Warning})
			}
		},
		Call: func(c history.Call) {
			call := wire.AgentCall(c)
			s.send(protocol.TurnEvent{Call: &call})
		},
		Ended: func(c history.Call, r *tool.Result) {
			s.send(protocol.TurnEvent{Result: &protocol.CallEnd{Call: wire.AgentCall(c), Result: r}})
		},
		Fallback: func(_, _ *agent.ModelConfig, because string) {
			s.send(protocol.TurnEvent{Notice: "another model is asked for the rest of this turn: " + because})
		},
	}
}

// outputs passes on what the conversation's calls print.
func (s *turnStream) outputs(output <-chan journal.Output, done <-chan struct{}, calls string) {
	for {
		select {
		case out := <-output:
			if strings.HasPrefix(out.Call, calls) {
				output := wire.Output(out)
				s.send(protocol.TurnEvent{Output: &output})
			}
		case <-done:
			return
		}
	}
}

func (a *conversationRoutes) cancelTurn(w http.ResponseWriter, r *http.Request) error {
	c, err := a.kernel.Conversations.Get(r.PathValue("id")) // any process of the user may: stopping asks for nothing
	if err != nil {
		return err
	}
	return answer(w, c.Cancel())
}

// compact makes a conversation shorter that nobody speaks in right now.
func (a *conversationRoutes) compact(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	done, err := c.Compact(r.Context())
	if err != nil {
		return err
	}
	if done == nil {
		return answer(w, nil)
	}
	return answer(w, wire.Compaction(*done))
}

func (a *conversationRoutes) prompt(w http.ResponseWriter, r *http.Request) error {
	c, err := a.conversation(r)
	if err != nil {
		return err
	}
	made := c.Prompt()
	p := protocol.Prompt{Text: made.Text()}
	for _, s := range made.Sections {
		n := tokens(s.Text)
		p.Tokens += n
		p.Sections = append(p.Sections, protocol.PromptSection{Name: s.Name, Text: s.Text, Tokens: n})
	}
	if c.Model().NativeTools {
		for _, e := range c.Plan().Shown {
			p.Offered = append(p.Offered, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
		}
		p.Shown = c.Plan().ShownTokens
	}
	return answer(w, p)
}

// plan says how an agent's model would be shown the tools.
func (a *conversationRoutes) plan(w http.ResponseWriter, r *http.Request) error {
	var in protocol.PlanRequest
	if err := read(r, &in); err != nil {
		return err
	}
	if in.Window < 0 {
		return tool.Errorf("httpapi", tool.Invalid, "the window %d is not a number of tokens", in.Window)
	}
	c := toolview.SurfaceConfig{Mode: in.Mode, Window: in.Window, WindowFrom: surface.FromFlag}
	made, err := a.kernel.Conversations.Preview(r.Context(), conversation.Spec{
		Workspace: in.Workspace, Named: in.WorkspaceNamed, AppFile: in.AppFile, Agent: in.Agent,
	}, c)
	if err != nil {
		return err
	}
	return answer(w, protocol.AgentSurface{
		Agent: made.Agent, Provider: made.Model.Provider, Model: made.Model.Model, Offline: made.Model.Offline,
		Native: made.Model.NativeTools, Warnings: made.Warnings, Surface: *wire.Surface(made.Plan),
	})
}

// tokens is about how many a text has.
func tokens(text string) int { return (len(text) + 3) / 4 }

func (a *conversationRoutes) conversations(w http.ResponseWriter, r *http.Request) error {
	var limit uint64
	if err := number(r, "limit", &limit); err != nil {
		return err
	}
	list, err := a.kernel.Conversations.List(r.Context(), int(limit))
	if err != nil {
		return err
	}
	return answer(w, wire.List(list, wire.ConversationInfo))
}

func (a *conversationRoutes) history(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := number(r, "after", &after); err != nil {
		return err
	}
	info, events, err := a.kernel.Conversations.History(r.Context(), r.PathValue("id"), int64(after))
	if err != nil {
		return err
	}
	return answer(w, protocol.History{
		ConversationInfo: wire.ConversationInfo(info), Log: wire.List(events, wire.HistoryEvent),
	})
}

// conversationEvents follows the log of a conversation, as one line for each event.
func (a *conversationRoutes) conversationEvents(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := number(r, "after", &after); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Context, cancel)()
	c, err := a.kernel.Conversations.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return nil
	}
	_ = c.Follow(ctx, int64(after), func(e history.Event) bool { return enc.Encode(wire.HistoryEvent(e)) == nil && flush() == nil })
	return nil
}

func (a *conversationRoutes) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	// Its own opener may; anybody else shows that a human wants it.
	if c, err := a.kernel.Conversations.Get(id); err != nil || checkOwner(c.Session(), r) != nil {
		if err := a.kernel.Approvals.HasHumanAuthority(credential(r, "")); err != nil {
			return err
		}
	}
	if err := a.kernel.Conversations.Delete(r.Context(), id); err != nil {
		return err
	}
	return answer(w, struct{}{})
}
