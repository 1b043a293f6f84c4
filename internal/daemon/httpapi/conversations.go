package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"callgate"
	"callgate/internal/agent"
	"callgate/internal/agent/session"
	"callgate/internal/arbiter/approval"
	"callgate/internal/daemon/peer"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func (a *api) converse(w http.ResponseWriter, r *http.Request) error {
	var o protocol.OpenConversation
	if err := read(r, &o); err != nil {
		return err
	}
	c := sessionConfig(r, o.OpenSession)
	c.Named = o.Named
	talk, err := a.kernel.OpenConversation(r.Context(), c, o.Resume)
	if err != nil {
		return err
	}
	opened := protocol.Conversation{
		Session: openedSession(talk.Session), Agent: talk.Agent.ID, Provider: talk.Brain.Provider, Model: talk.Brain.Model,
		Offline: talk.Brain.Offline, Window: talk.Brain.Window, Native: talk.Brain.NativeTools,
		Mode: string(talk.Plan.Mode), Tools: len(talk.Plan.PerTool), Info: talk.Info(),
	}
	if talk.App != nil {
		opened.OneShot = talk.App.Runtime.Mode == "one_shot"
		for _, s := range talk.App.Skills {
			opened.Skills = append(opened.Skills, protocol.Skill{Command: s.Command, Description: s.Description})
		}
	}
	return answer(w, opened)
}

// sessionConfig is a session as a client asks for it.
func sessionConfig(r *http.Request, o protocol.OpenSession) callgate.SessionConfig {
	c := callgate.SessionConfig{Workspace: o.Workspace, AppFile: o.AppFile, Agent: o.Agent, Lane: o.Lane, PID: peerPID(r)}
	if c.PID == 0 {
		c.PID = os.Getpid()
	}
	if o.Human && peer.AtTerminal(c.PID) {
		c.HumanKey = r.Header.Get(protocol.KeyHeader)
	}
	return c
}

func openedSession(s *callgate.Session) protocol.Session {
	opened := protocol.Session{ID: s.ID, Workspace: s.Workspace(), Human: s.Human(), Unaccepted: s.Unaccepted()}
	if s.App != nil {
		opened.App, opened.AppFile, opened.Warnings = s.App.ID, s.App.Path, s.Warnings
	}
	return opened
}

// conversation is the open conversation that a request acts in; only the
// process that opened it may.
func (a *api) conversation(r *http.Request) (*callgate.Conversation, error) {
	talk, err := a.kernel.Conversation(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return talk, owned(talk.Session, r)
}

func (a *api) saying(w http.ResponseWriter, r *http.Request) error {
	talk, err := a.conversation(r)
	if err != nil {
		return err
	}
	var in protocol.Say
	if err := read(r, &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return tool.Errorf("httpapi.say", tool.Invalid, "there is nothing to say").WithHint("write what the agent should do")
	}
	return a.turn(w, r, talk, func(ctx context.Context, watch agent.Watch, asked func(approval.Request)) (session.End, error) {
		return talk.Say(ctx, llm.TextMessage(llm.User, in.Text), watch, asked)
	})
}

func (a *api) takeUp(w http.ResponseWriter, r *http.Request) error {
	talk, err := a.conversation(r)
	if err != nil {
		return err
	}
	return a.turn(w, r, talk, talk.Resume)
}

// turn runs a turn and tells of it as it goes. A client that goes away stops it.
func (a *api) turn(w http.ResponseWriter, r *http.Request, talk *callgate.Conversation, run func(context.Context, agent.Watch, func(approval.Request)) (session.End, error)) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Ending, cancel)()
	to := http.NewResponseController(w)
	s := &moments{enc: json.NewEncoder(w), flush: func() error {
		_ = to.SetWriteDeadline(time.Now().Add(unread)) // for the next; not every connection has one
		return to.Flush()
	}, broken: cancel}
	_ = to.SetWriteDeadline(time.Now().Add(unread))
	w.Header().Set("Content-Type", "application/x-ndjson")
	output := a.kernel.Live.Listen(ctx)
	var printing sync.WaitGroup
	done := make(chan struct{})
	printing.Go(func() { s.outputs(output, done, talk.ID+"-") })
	end, err := run(ctx, s.watch(), func(q approval.Request) { s.tell(protocol.Moment{Approval: &q}) })
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
		s.tell(protocol.Moment{Failure: e})
		return nil
	}
	s.tell(protocol.Moment{End: &protocol.TurnEnd{End: end, Info: talk.Info()}})
	return nil
}

// unread is how long a client may leave what it is told unread before the turn
// is stopped: nobody watches it.
const unread = 30 * time.Second

// moments writes what happens, one line each, from whatever goroutine.
type moments struct {
	mu     sync.Mutex
	enc    *json.Encoder
	flush  func() error
	broken func()
	told   bool
}

func (s *moments) tell(m protocol.Moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = true
	if s.enc.Encode(m) != nil || s.flush() != nil {
		s.broken() // nobody listens any more
	}
}

func (s *moments) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

func (s *moments) watch() agent.Watch {
	return agent.Watch{
		Delta: func(d llm.Delta) { s.tell(protocol.Moment{Delta: &d}) },
		Event: func(e session.Event) {
			s.tell(protocol.Moment{Event: &e})
			if e.Compaction != nil && e.Compaction.Warning != "" {
				s.tell(protocol.Moment{Notice: e.Compaction.Warning})
			}
		},
		Call: func(c session.Call) { s.tell(protocol.Moment{Call: &c}) },
		Ended: func(c session.Call, r *tool.Result) {
			s.tell(protocol.Moment{Result: &protocol.CallEnd{Call: c, Result: r}})
		},
		Fall: func(_, _ *agent.Brain, because string) {
			s.tell(protocol.Moment{Notice: "another model is asked for the rest of this turn: " + because})
		},
	}
}

// outputs passes on what the conversation's calls print.
func (s *moments) outputs(output <-chan journal.Output, done <-chan struct{}, calls string) {
	for {
		select {
		case out := <-output:
			if strings.HasPrefix(out.Call, calls) {
				s.tell(protocol.Moment{Output: &out})
			}
		case <-done:
			return
		}
	}
}

func (a *api) halt(w http.ResponseWriter, r *http.Request) error {
	talk, err := a.kernel.Conversation(r.PathValue("id")) // whoever the user's process is: stopping asks for nothing
	if err != nil {
		return err
	}
	return answer(w, talk.Cancel())
}

// compact makes a conversation shorter that nobody speaks in right now.
func (a *api) compact(w http.ResponseWriter, r *http.Request) error {
	talk, err := a.conversation(r)
	if err != nil {
		return err
	}
	done, err := talk.Compact(r.Context())
	if err != nil {
		return err
	}
	return answer(w, done)
}

func (a *api) prompt(w http.ResponseWriter, r *http.Request) error {
	talk, err := a.conversation(r)
	if err != nil {
		return err
	}
	made := talk.Prompt()
	p := protocol.Prompt{Text: made.Text()}
	for _, s := range made.Sections {
		n := tokens(s.Text)
		p.Tokens += n
		p.Sections = append(p.Sections, protocol.PromptSection{Name: s.Name, Text: s.Text, Tokens: n})
	}
	if talk.Brain.NativeTools {
		for _, e := range talk.Plan.Shown {
			p.Offered = append(p.Offered, llm.ToolDef{Name: e.Name, Description: e.Description, Schema: e.Schema})
		}
		p.Shown = talk.Plan.ShownTokens
	}
	return answer(w, p)
}

// tokens is about how many a text has.
func tokens(text string) int { return (len(text) + 3) / 4 }

func (a *api) conversations(w http.ResponseWriter, r *http.Request) error {
	var limit uint64
	if err := number(r, "limit", &limit); err != nil {
		return err
	}
	list, err := a.kernel.Conversations(r.Context(), int(limit))
	if err != nil {
		return err
	}
	if list == nil {
		list = []session.Info{}
	}
	return answer(w, list)
}

func (a *api) history(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := number(r, "after", &after); err != nil {
		return err
	}
	info, events, err := a.kernel.History(r.Context(), r.PathValue("id"), int64(after))
	if err != nil {
		return err
	}
	return answer(w, protocol.History{Info: info, Log: events})
}

// talkEvents follows the log of a conversation, as one line for each event.
func (a *api) talkEvents(w http.ResponseWriter, r *http.Request) error {
	var after uint64
	if err := number(r, "after", &after); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Ending, cancel)()
	talk, err := a.kernel.Conversation(r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc, flush := json.NewEncoder(w), http.NewResponseController(w).Flush
	if err := flush(); err != nil {
		return nil
	}
	_ = talk.Follow(ctx, int64(after), func(e session.Event) bool { return enc.Encode(e) == nil && flush() == nil })
	return nil
}

func (a *api) forget(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	// Its own opener may; anybody else shows that a human wants it.
	if talk, err := a.kernel.Conversation(id); err != nil || owned(talk.Session, r) != nil {
		if err := a.kernel.Approvals.Vouch(credential(r, "")); err != nil {
			return err
		}
	}
	if err := a.kernel.Forget(r.Context(), id); err != nil {
		return err
	}
	return answer(w, struct{}{})
}
