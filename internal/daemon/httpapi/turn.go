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
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel"
	"callgate/internal/kernel/questions"
	"callgate/internal/kernel/scripts"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// turn runs a turn and streams its events. A client that leaves, or does not read,
// interrupts it, or leaves it to itself if the conversation keeps running; who means to
// stop a turn says so, with RouteCancelTurn.
func (a *conversationRoutes) turn(
	w http.ResponseWriter, r *http.Request, c *conversation.Conversation,
	run func(context.Context, conversation.Watch) (history.End, error),
) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	gone := func() { cancel(history.ClientGone) }
	if c.KeepsRunning() {
		gone = c.Abandon
	}
	defer context.AfterFunc(r.Context(), gone)()
	defer context.AfterFunc(a.Context, func() { cancel(history.KernelClosed) })()
	to := http.NewResponseController(w)
	s := &turnStream{enc: json.NewEncoder(w), flush: func() error {
		_ = to.SetWriteDeadline(time.Now().Add(writeTimeout)) // for the next event; not every connection has deadlines
		return to.Flush()
	}, broken: gone}
	defer s.close()
	_ = to.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/x-ndjson")
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // until run has returned
	defer stop()
	output, printing := a.kernel.Output.Subscribe(running), sync.WaitGroup{}
	printing.Go(func() { s.outputs(output, c.ID()+"-") })
	printing.Go(func() { s.questions(ctx, running.Done(), a.kernel, c.ID()) })
	printing.Go(func() { s.scripts(a.kernel.Scripts, running.Done(), c.ID()) })
	end, err := run(ctx, conversation.Watch{
		Observer: s.watch(), Asked: func(q approval.Request) {
			a := wire.Approval(q)
			if q.State != approval.Pending {
				s.send(protocol.TurnEvent{Answered: &a})
				return
			}
			s.send(protocol.TurnEvent{Approval: &a})
		},
	})
	stop()
	printing.Wait()
	if c.KeepsRunning() && (r.Context().Err() != nil || s.isBroken()) {
		c.Leave() // nobody else would
		return nil
	}
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
	last := protocol.TurnEnd{HistoryEnd: wire.HistoryEnd(end), Info: wire.ConversationInfo(c.Info())}
	for _, q := range end.Returned {
		last.Returned = append(last.Returned, wire.QueuedMessage(q))
	}
	s.send(protocol.TurnEvent{End: &last})
	return nil
}

// writeTimeout is how long a client may not read the events before its turn is
// stopped.
const writeTimeout = 30 * time.Second

// turnStream writes the events of a turn, one per line, from any goroutine.
type turnStream struct {
	mu      sync.Mutex
	enc     *json.Encoder
	flush   func() error
	broken  func() // called when an event cannot be written
	started bool
	ended   bool // nothing more can be written
}

func (s *turnStream) send(m protocol.TurnEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	if s.ended {
		return
	}
	if s.enc.Encode(m) != nil || s.flush() != nil {
		s.ended = true
		s.broken()
	}
}

// close has nothing written any more: what goes on in the background may still ask.
func (s *turnStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (s *turnStream) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
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
			event.System = nil // long, and the history has it
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
			s.send(protocol.TurnEvent{Result: &protocol.CallEnd{Call: wire.AgentCall(c), Result: r, Took: r.Took}})
		},
		Wait:   func(r llm.Retry) { s.send(protocol.TurnEvent{Wait: &r}) },
		Notice: func(text string) { s.send(protocol.TurnEvent{Notice: text}) },
		Fallback: func(_, _ *agent.ModelConfig, because string) {
			s.send(protocol.TurnEvent{Notice: "another model is asked for the rest of this turn: " + because})
		},
	}
}

// outputs sends the output of the conversation's calls, until the subscription ends and
// everything published before has been sent.
func (s *turnStream) outputs(output *outputbus.Listener, calls string) {
	for out := range output.All() {
		if strings.HasPrefix(out.Call, calls) && out.Stream != scripts.OutputStream { // see scripts
			output := wire.Output(out)
			s.send(protocol.TurnEvent{Output: &output})
		}
	}
}

// scripts sends the calls that the conversation's scripts make.
func (s *turnStream) scripts(all *scripts.Runner, done <-chan struct{}, conversation string) {
	steps, stop := all.Follow(conversation)
	go func() {
		<-done
		stop()
	}()
	for step := range steps {
		call := wire.ScriptCall(step)
		s.send(protocol.TurnEvent{Script: &call})
	}
}

// questions sends what the conversation's agent asks, and those that work for it, and how
// that is settled.
func (s *turnStream) questions(ctx context.Context, done <-chan struct{}, k *kernel.Kernel, conversation string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-done:
			stop()
		case <-ctx.Done():
		}
	}()
	sent := map[string]questions.State{}
	for r, err := range k.Questions.Watch(ctx) {
		if err != nil {
			return // it can be answered elsewhere
		}
		asker, err := k.Conversations.Get(r.Principal.Session)
		concerns := r.Principal.Session == conversation || err == nil && asker.WorksFor(conversation)
		if _, told := sent[r.ID]; sent[r.ID] != r.State && (concerns || told) {
			sent[r.ID] = r.State
			asked := wire.Question(r)
			s.send(protocol.TurnEvent{Question: &asked})
		}
	}
}

// tokens estimates the tokens of a text.
func tokens(text string) int { return (len(text) + 3) / 4 }
