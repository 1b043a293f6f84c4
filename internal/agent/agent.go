// Package agent runs the agent loop: a user sends a message, the model answers and
// proposes calls, the gate runs them, and the model gets the results, until it
// proposes no more calls.
//
// # Laws
//
//   - Every event is in the conversation's history before the next step begins,
//     so a turn that was killed can be resumed: see [Loop.Resume].
//   - The calls of one answer run in parallel, in the model's order where they
//     touch the same thing (internal/gate/order), and all of them end before the
//     next request.
//   - A failed call is a result for the model, never the end of the turn.
//   - A turn always ends with a turn_ended event that gives the reason, also when
//     it is cancelled. Then running calls are stopped first, and each has a result
//     that says so. The model is told of it with its next request. A turn whose
//     context ends with a [history.Interruption] as its cause was stopped by nobody:
//     it ends as interrupted, and can be resumed.
//   - What the user says while a turn runs is taken before the next request to the
//     model, and a turn does not end as done while it waits: see [Loop.Queue].
//   - An answer that is not whole says so, in the history and to the model: one that was
//     cut off by the limit of tokens goes on, and a call in it that is not whole is not
//     made.
//   - Only the model's time counts against the turn's timeout: see Config.Timeout.
//   - Messages are only appended, because a provider may cache the beginning of
//     the conversation. The exception is a conversation that no longer fits the
//     model's window: see Config.Compact.
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/resulttext"
	"callgate/llm"
	"callgate/tool"
)

// ToolCaller runs the calls of a model.
type ToolCaller interface {
	// Call runs calls in parallel and returns their results in order. It reports
	// each result to done as it comes, from several goroutines.
	Call(ctx context.Context, calls []history.Call, done func(int, *tool.Result)) []*tool.Result
	// CallOutcome returns the outcome of a call made before a restart. made is
	// false if the call has touched nothing and may be made now.
	CallOutcome(ctx context.Context, id string) (result *tool.Result, made bool, err error)
}

// ModelConfig is a model, and the settings of its requests.
type ModelConfig struct {
	Model    llm.Model
	Settings llm.Request // the common part of every request: tokens, temperature …
	// Parser finds the calls in the text of a model whose provider does not
	// support tools; nil if the provider does.
	Parser CallParser
	// Detector finds the calls that a model with tools writes into its text instead.
	// A strict loop refuses them; otherwise they are text. May be nil.
	Detector CallParser
	// ToolsRefused is called when the provider refuses the tools of a request; see
	// Config.InText. nil: the turn fails.
	ToolsRefused func(context.Context)
	Pictures     Pictures
	Fallback     *ModelConfig // continues the turn when the provider reports a billing error
}

// CallParser finds calls in the text of a model.
type CallParser interface {
	// Start begins an answer. write takes its text as it comes and returns the
	// part that may be shown; end returns the rest, and the calls.
	Start() (write func(string) string, end func() (string, []llm.ToolCall))
}

// TaskNotices tells a model of background tasks that have ended.
type TaskNotices interface {
	// Notices returns the notices for the model's next request.
	Notices(ctx context.Context) ([]Notice, error)
	// Noted is called when notices are in the history.
	Noted(ctx context.Context, notices []Notice) error
	// Await is called when the model proposes no more calls. It may wait for
	// tasks, which it says, and reports whether there are new notices.
	Await(ctx context.Context, say func(string)) bool
}

// Notice is what a model is told beside what is said: ends of tasks, and other news.
type Notice struct {
	Tasks []string // whose ends it tells
	Text  string
	Usage *llm.Usage // what they cost, where models were asked; may be nil
}

// event is the notice as it stands in the history.
func (n Notice) event() history.Event {
	m := kernelNote(n.Text)
	e := history.Event{Type: history.Note, Message: &m, Usage: n.Usage}
	if len(n.Tasks) > 0 {
		e.Task, e.Tasks = n.Tasks[0], n.Tasks[1:]
	}
	return e
}

// Note is what a model is told beside the user's words.
type Note struct {
	Text string
	Told map[string]string // what it is about: see history.Event
}

// Config configures a loop. Model, Tools, Log and System are required.
type Config struct {
	Model    *ModelConfig
	Tools    ToolCaller
	ToolDefs []llm.ToolDef // the same for every request
	Log      *history.Log
	System   func() string // the system prompt, computed once for each turn
	// Notes returns what the model must be told before its next request. It is
	// called with the user's event before that is written, and may complete it; and
	// with nil when a turn is resumed and after a compaction. May be nil.
	// Its error keeps a turn from beginning, and nothing is written.
	Notes    func(user *history.Event) ([]Note, error)
	Tasks    TaskNotices // may be nil
	MaxTurns int         // requests to the model within one turn; 0: 50
	// Timeout is what one turn may take of the model's time; 0: any. The time of calls, of a
	// human who is asked, of waiting for a provider as it asks for, and of compacting is not counted.
	Timeout time.Duration
	// TurnLimit bounds what one turn may cost, and OpenLimit what all turns may since the
	// conversation was opened, when its usage was Opened. A turn ends before the request
	// that would come after it.
	TurnLimit, OpenLimit Limit
	Opened               llm.Usage
	Strict               bool // a call that stands in the model's text is refused
	// Input and Output filter the text of the user and of the model. They may
	// change it, or refuse it with an error. May be nil.
	Input, Output func(string) (string, error)
	// Compact takes the messages before each request and returns how to compact
	// them, or nil if they fit the model's window. May be nil.
	Compact func(ctx context.Context, system string, messages []llm.Message) (*history.Compaction, error)
	// CompactOverflow takes the messages that the provider refused as too long,
	// once for each request, and returns how to compact them. May be nil.
	CompactOverflow func(ctx context.Context, system string, messages []llm.Message) (*history.Compaction, error)
	// InText is called when Model's provider refused the tools of a request, and its calls
	// are read from its text from now on. It returns a note that has the system text for
	// that. nil: a turn whose tools are refused fails.
	InText func() history.Event
	// SystemFor is the system text for a fallback that gets its tools another way than
	// Model does: in the prompt, or not. nil: it is System's.
	SystemFor func(inText bool) string
	// Names are the names of the tools as the model calls them, for what it is told of
	// results; nil: their dotted names.
	Names resulttext.Names
}

// Observer follows a turn while it runs; any field may be nil.
type Observer struct {
	Delta    func(llm.Delta)                             // a part of the answer
	Event    func(history.Event)                         // an event, after it was written
	Call     func(history.Call)                          // a call begins
	Ended    func(history.Call, *tool.Result)            // a call ends; in the order of the ends
	Wait     func(llm.Retry)                             // a request failed, and is sent again after a wait
	Notice   func(string)                                // what the user should know
	Fallback func(from, to *ModelConfig, because string) // the turn continues with the fallback model
}

// Loop runs the turns of one conversation, one at a time.
type Loop struct {
	cfg Config
}

// New returns a loop.
func New(cfg Config) *Loop {
	if cfg.MaxTurns == 0 {
		cfg.MaxTurns = 50
	}
	return &Loop{cfg: cfg}
}

// Turn runs one turn: from the user's message to the model's last answer. It
// returns how the turn ended, which is also in the history. An error means that
// the history could not be written; the outcome is then unknown.
func (l *Loop) Turn(ctx context.Context, message llm.Message, observer Observer) (history.End, error) {
	return l.Speak(ctx, Words{Message: message}, observer)
}

// Resume continues a turn that was interrupted: one that never ended, because its
// process did, or that ended as interrupted. A conversation whose last turn ended
// otherwise stays as it is.
func (l *Loop) Resume(ctx context.Context, observer Observer) (history.End, error) {
	t := l.turn(observer)
	var last *history.End
	var turns int
	var broken bool
	l.cfg.Log.View(func(s *history.State) { last, turns, broken = s.Last, s.Turns, s.Broken() })
	switch {
	case last != nil && !broken:
		return *last, nil
	case turns == 0:
		return history.End{}, tool.Errorf("agent.Resume", tool.Invalid, "this conversation has no messages yet")
	}
	return t.run(ctx, func(ctx context.Context) (*history.End, error) {
		if err := t.resumeCalls(ctx); err != nil {
			return nil, err
		}
		if err := t.tellAgain(ctx); err != nil {
			return nil, err
		}
		return t.loop(ctx)
	})
}

// turn is the state of one run.
type turn struct {
	*Loop
	observer Observer
	model    *ModelConfig
	system   string
	guard    loopGuard
	clock    *clock
	outer    context.Context // ends when the turn is stopped, or interrupted
	before   llm.Usage       // of the conversation when the turn began
	last     []history.Event // written together with the end of the turn
	inText   bool            // the calls of the last answer stand in its text
	cutOff   int             // answers in a row that the limit of tokens cut off
	partial  bool            // the last answer in the history is not whole, and does not go on
	unpriced bool            // the user was told that the price is not known
}

func (l *Loop) turn(observer Observer) *turn {
	return &turn{Loop: l, observer: observer, model: l.cfg.Model, before: l.cfg.Log.Info().Usage}
}

// errStop ends a turn in the middle of a step.
type errStop struct{ end history.End }

func (e *errStop) Error() string { return string(e.end.Reason) }

// run does the work of the turn, and writes its end.
func (t *turn) run(ctx context.Context, work func(context.Context) (*history.End, error)) (history.End, error) {
	ctx, ended := t.span(ctx)
	t.outer = ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.clock = newClock(t.cfg.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer t.clock.stop()
	t.system = t.cfg.System()
	for {
		end, err := work(ctx)
		if err != nil {
			var stop *errStop
			if !errors.As(err, &stop) {
				ended(nil)
				return history.End{}, err
			}
			end = &stop.end
		}
		if ctx.Err() != nil && end.Reason != history.Done {
			*end = t.interruptedEnd()
		}
		end.Note = t.endNote(*end)
		if written, err := t.writeEnd(ctx, end); written || err != nil {
			ended(end)
			return *end, err
		}
		work, t.guard = t.loop, loopGuard{} // the user has said something: the turn goes on
	}
}

// loop sends requests to the model, with the results of its calls, until it
// proposes no more calls.
func (t *turn) loop(ctx context.Context) (*history.End, error) {
	for range t.cfg.MaxTurns {
		if ctx.Err() != nil {
			return &history.End{Reason: history.Cancelled}, nil
		}
		if err := t.addNotices(ctx); err != nil {
			return nil, err
		}
		if err := t.takeQueued(ctx); err != nil {
			return nil, err
		}
		if err := t.compactIfNeeded(ctx); err != nil {
			return nil, err
		}
		if end := t.costEnd(); end != nil {
			return end, nil
		}
		answer, err := t.generate(ctx)
		if err != nil {
			return nil, err
		}
		if end, err := t.take(ctx, answer); end != nil || err != nil {
			return end, err
		}
	}
	text := fmt.Sprintf("stopped after asking the model %d times", t.cfg.MaxTurns)
	return &history.End{Reason: history.MaxTurns, Error: text}, nil
}

// take writes an answer and makes its calls. It returns the end of the turn, if the
// answer was the last one.
func (t *turn) take(ctx context.Context, answer *llm.Response) (*history.End, error) {
	event := history.Event{
		Type: history.Assistant, Message: &answer.Message, Usage: &answer.Usage, Model: answer.Model,
	}
	t.noticeUnpriced(answer)
	calls := answer.Message.Calls()
	cut := answer.Stop == llm.StopLength
	whole := slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return isObject(c.Args) })
	if t.cutOff++; !cut || whole {
		t.cutOff = 0
	}
	switch {
	case len(calls) > 0 && t.inText && t.cfg.Strict:
		return nil, t.refuseInText(ctx, event, calls)
	case len(calls) > 0 && t.cutOff > maxCutOff:
		t.last = append(t.last, event)
		return t.model.cutEnd(fmt.Sprintf("the limit of tokens%%s cut %d answers in a row off", t.cutOff)), nil
	case len(calls) > 0:
		return nil, t.call(ctx, event, calls, cut)
	case cut:
		return t.goOn(ctx, event)
	case answer.Stop == llm.StopRefusal:
		t.last = append(t.last, event)
		return refusedEnd(answer), nil
	case answer.Stop == llm.StopPause, t.awaitTasks(ctx):
		return nil, t.write(ctx, event)
	default:
		t.last = append(t.last, event)
		return &history.End{Reason: history.Done}, nil
	}
}

// awaitTasks waits for tasks, and reports whether there are new notices. A task has a
// limit of its own.
func (t *turn) awaitTasks(ctx context.Context) bool {
	if t.cfg.Tasks == nil {
		return false
	}
	defer t.clock.pause()()
	return t.cfg.Tasks.Await(ctx, func(text string) {
		if t.observer.Notice != nil {
			t.observer.Notice(text)
		}
	})
}

// addNotices writes the notices for the model's next request.
func (t *turn) addNotices(ctx context.Context) error {
	if t.cfg.Tasks == nil {
		return nil
	}
	notices, err := t.cfg.Tasks.Notices(ctx)
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	if len(notices) == 0 {
		return nil
	}
	for _, n := range notices {
		if err := t.write(ctx, n.event()); err != nil {
			return err
		}
	}
	if err := t.cfg.Tasks.Noted(ctx, notices); err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	return nil
}

// write appends events to the history, all or none, and reports them.
func (t *turn) write(ctx context.Context, events ...history.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := t.cfg.Log.Append(ctx, events...); err != nil {
		return err
	}
	t.report(events) // Append has numbered them
	return nil
}
