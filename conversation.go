package callgate

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/feed"
	"callgate/internal/gate/approval"
	"callgate/internal/journal/outputbus"
	"callgate/internal/kernel"
	"callgate/llm"
	"callgate/tool"
)

// ConversationConfig says with whom a conversation is held, and where.
type ConversationConfig struct {
	Workspace string // a folder; required, unless Resume is given
	AppFile   string // default: callgate.yaml in the workspace, when there is one
	Agent     string // default: the app's entry agent
	// Resume is the ID of an earlier conversation, which goes on in its own
	// folder, with its app and its agent.
	Resume string
	// Model answers in place of the app's model; nil: as the app says.
	Model llm.Model
}

// OpenConversation begins a conversation with an agent of an app, or resumes an
// earlier one. Without an app file the agent is a plain assistant.
func (k *Kernel) OpenConversation(ctx context.Context, c ConversationConfig) (*Conversation, error) {
	requester, err := k.k.Requester(0, "")
	if err != nil {
		return nil, err
	}
	opened, err := k.k.Conversations.Open(ctx, conversation.Spec{
		Resume: c.Resume, Workspace: c.Workspace, Named: true, AppFile: c.AppFile, Agent: c.Agent,
		Model: c.Model, Requester: requester,
	})
	if err != nil {
		return nil, err
	}
	return &Conversation{k.k, opened}, nil
}

// Conversations returns conversations, the one last touched first; all when
// limit is zero.
func (k *Kernel) Conversations(ctx context.Context, limit int) ([]ConversationInfo, error) {
	list, err := k.k.Conversations.List(ctx, limit)
	return each(list, infoOf), err
}

// DeleteConversation deletes a conversation, and what modules keep for it. The
// journal stays.
func (k *Kernel) DeleteConversation(ctx context.Context, id string) error {
	return k.k.Conversations.Delete(ctx, id)
}

// ConversationInfo is a conversation as a list shows it.
type ConversationInfo struct {
	ID, Title        string
	App, AppFile     string
	Agent            string
	Workspace        string
	Created, Updated time.Time
	Turns, ToolCalls int
	LastEvent        int64
	LastEnd          string // how the last turn ended; empty: it goes on, or was broken off
	Usage            llm.Usage
}

func infoOf(i history.Info) ConversationInfo {
	return ConversationInfo{
		ID: i.ID, Title: i.Title, App: i.App, AppFile: i.AppFile, Agent: i.Agent, Workspace: i.Workspace,
		Created: i.Created, Updated: i.Updated, Turns: i.Turns, ToolCalls: i.ToolCalls,
		LastEvent: i.Events, LastEnd: string(i.Last), Usage: i.Usage,
	}
}

// Conversation is messages with one agent. It survives its process: see
// ConversationConfig.Resume. One turn runs at a time.
type Conversation struct {
	k *kernel.Kernel
	c *conversation.Conversation
}

// ID returns the conversation's ID.
func (c *Conversation) ID() string { return c.c.ID() }

// Info returns the conversation as a list shows it.
func (c *Conversation) Info() ConversationInfo { return infoOf(c.c.Info()) }

// Session returns the session in which the agent's calls are made.
func (c *Conversation) Session() *Session { return &Session{c.k, c.c.Session()} }

// Close ends the conversation's session; the history stays. A turn that is under
// way is stopped first.
func (c *Conversation) Close() { c.c.Close() }

// Cancel stops the turn that is under way and waits until it has stopped. It
// reports whether there was one.
func (c *Conversation) Cancel() bool { return c.c.Cancel() }

// Compact makes what the model is shown shorter now, and returns how many
// messages were left out. No turn may be under way.
func (c *Conversation) Compact(ctx context.Context) (dropped int, err error) {
	done, err := c.c.Compact(ctx)
	if done == nil || err != nil {
		return 0, err
	}
	return done.Dropped, nil
}

// EventKind says which field of an Event is set.
type EventKind string

// The kinds of event.
const (
	EventDelta    EventKind = "delta"    // Delta: a piece of the answer that is being given
	EventMessage  EventKind = "message"  // Message: it was added to the history
	EventCall     EventKind = "call"     // Call: a call begins
	EventResult   EventKind = "result"   // Call with its Result: a call has ended
	EventOutput   EventKind = "output"   // Output: a running call prints
	EventApproval EventKind = "approval" // Approval: a call waits for a human
	EventQuestion EventKind = "question" // Question: the agent asks its user
	EventNotice   EventKind = "notice"   // Notice: what the user should know
	EventEnd      EventKind = "end"      // End: the turn has ended
)

// Event is one thing that happens in a conversation.
type Event struct {
	Kind     EventKind
	Seq      int64 // its number in the history; 0: it is not kept
	At       time.Time
	Delta    *llm.Delta
	Message  *llm.Message
	Call     *CallEvent
	Output   *Output
	Approval *Approval
	Question *Question
	Notice   string
	End      *TurnEnd
}

// CallEvent is a call of the agent's model.
type CallEvent struct {
	ID     string
	Name   string
	Args   json.RawMessage
	Result *tool.Result // nil while it runs
}

// Output is a piece of the output of a running call. On an overloaded machine some output
// can be lost, never the call's result.
type Output struct {
	Call   string
	Stream string // stdout, stderr …
	Text   []byte
	Lost   int // the bytes missing at this point of the stream; the piece has no text
}

// TurnEnd is how a turn ended.
type TurnEnd struct {
	Reason string // done, max_turns, stuck, timeout, refused, cut, cost, cancelled, interrupted, error
	Answer string // the model's last text
	Error  string
}

// Send has the agent answer a message. It yields what happens; the last event is
// the end of the turn. The turn is stopped when the loop over it is left.
//
// Approvals and questions are answered while the turn goes on: Kernel.Approvals,
// Kernel.Questions.
func (c *Conversation) Send(ctx context.Context, text string) iter.Seq2[Event, error] {
	return c.turn(ctx, func(ctx context.Context, w conversation.Watch) (history.End, error) {
		return c.c.Send(ctx, llm.TextMessage(llm.User, text), w)
	})
}

// Resume goes on with a turn that was broken off, like Send.
func (c *Conversation) Resume(ctx context.Context) iter.Seq2[Event, error] {
	return c.turn(ctx, c.c.Resume)
}

// Events yields the history after an event, and then each as it comes, until ctx
// is done.
func (c *Conversation) Events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := c.c.Follow(ctx, after, func(e history.Event) bool {
			event, known := eventOf(e)
			return !known || yield(event, nil)
		})
		if err != nil && ctx.Err() == nil {
			yield(Event{}, err)
		}
	}
}

func (c *Conversation) turn(
	ctx context.Context, run func(context.Context, conversation.Watch) (history.End, error),
) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events := feed.New[Event]()
		var end TurnEnd
		var failed error
		running, stop := context.WithCancel(context.WithoutCancel(ctx)) // until run has returned
		output := c.k.Output.Subscribe(running)
		var forwarding sync.WaitGroup
		forwarding.Go(func() { c.forwardOutput(output, events) })
		go c.forwardQuestions(ctx, events, running.Done())
		go func() {
			var ended history.End
			var answer history.LastAnswer
			ended, failed = run(ctx, watch(events, &answer))
			end.Reason, end.Answer, end.Error = string(ended.Reason), answer.Text, ended.Error
			stop()
			forwarding.Wait()
			events.Close()
		}()
		for e := range events.All(context.WithoutCancel(ctx)) {
			if !yield(e, nil) {
				cancel()
				<-running.Done()
				return
			}
		}
		if failed != nil {
			yield(Event{}, failed)
			return
		}
		yield(Event{Kind: EventEnd, At: time.Now(), End: &end}, nil)
	}
}

// forwardOutput pushes the output of the conversation's calls, until the subscription
// ends and everything published before has been pushed.
func (c *Conversation) forwardOutput(output *outputbus.Listener, events *feed.Feed[Event]) {
	for o := range output.All() {
		if strings.HasPrefix(o.Call, c.ID()+"-") {
			events.Push(Event{Kind: EventOutput, At: time.Now(), Output: &Output{o.Call, o.Stream, o.Text, o.Lost}})
		}
	}
}

// watch pushes what happens in a turn, and keeps the last text of the model.
func watch(events *feed.Feed[Event], answer *history.LastAnswer) conversation.Watch {
	push := func(e Event) {
		e.At = time.Now()
		events.Push(e)
	}
	return conversation.Watch{
		Observer: agent.Observer{
			Delta: func(d llm.Delta) { push(Event{Kind: EventDelta, Delta: &d}) },
			Event: func(e history.Event) {
				answer.Add(e)
				if event, _ := eventOf(e); event.Kind == EventMessage || event.Kind == EventNotice {
					events.Push(event)
				}
			},
			Call: func(h history.Call) {
				push(Event{Kind: EventCall, Call: &CallEvent{ID: h.ID, Name: h.Name, Args: h.Args}})
			},
			Ended: func(h history.Call, r *tool.Result) {
				push(Event{Kind: EventResult, Call: &CallEvent{ID: h.ID, Name: h.Name, Args: h.Args, Result: r}})
			},
			Wait:   func(r llm.Retry) { push(Event{Kind: EventDelta, Delta: &llm.Delta{Kind: llm.DeltaRetry, Retry: &r}}) },
			Notice: func(text string) { push(Event{Kind: EventNotice, Notice: text}) },
			Fallback: func(_, _ *agent.ModelConfig, because string) {
				push(Event{Kind: EventNotice, Notice: "another model is asked for the rest of this turn: " + because})
			},
		},
		Asked: func(r approval.Request) {
			if a := approvalOf(r); r.State == approval.Pending {
				push(Event{Kind: EventApproval, Approval: &a})
			}
		},
	}
}

// eventOf is an event of the history as a program reads it.
func eventOf(h history.Event) (e Event, known bool) {
	e = Event{Seq: h.Seq, At: h.At}
	switch {
	case h.Message != nil:
		e.Kind, e.Message = EventMessage, h.Message
	case h.Type == history.CallMade && h.Call != nil:
		e.Kind, e.Call = EventCall, &CallEvent{ID: h.Call.ID, Name: h.Call.Name, Args: h.Call.Args}
	case h.Type == history.CallEnded && h.Call != nil && h.Result != nil:
		e.Kind, e.Call = EventResult, &CallEvent{ID: h.Call.ID, Name: h.Call.Name, Result: &tool.Result{
			Status: h.Result.Status, Summary: h.Result.Summary, Content: h.Result.Content, Approval: h.Result.Approval,
		}}
	case h.End != nil:
		e.Kind, e.End = EventEnd, &TurnEnd{Reason: string(h.End.Reason), Error: h.End.Error}
	case h.Compaction != nil && h.Compaction.Warning != "":
		e.Kind, e.Notice = EventNotice, h.Compaction.Warning
	default:
		return e, false
	}
	return e, true
}
