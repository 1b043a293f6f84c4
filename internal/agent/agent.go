// Package agent is the loop: a user speaks, a model answers and proposes calls,
// the door makes them, and the model is told what came of it, until it has
// nothing more to ask for.
//
// # Laws
//
//   - Everything that happens is in the conversation's log before what follows
//     from it happens, so a turn that was killed can be taken up: see [Loop.Resume].
//   - The calls of one answer are made side by side, in the model's order where
//     they touch the same thing, and all of them before the model is asked again.
//   - A call that fails is an answer for the model, never the end of the turn.
//   - A turn always ends with a turn_ended event that says why, also when it is
//     cancelled: then the calls that still run are stopped first, and the model
//     is told of each that it was.
//   - What a model is shown of the past is only added to, because its provider
//     may keep the beginning of it; unless there is no more room for it: see
//     Config.Fit.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// ToolCaller makes the calls of a model.
type ToolCaller interface {
	// Call makes calls side by side and returns their answers in order; done is
	// given each as it comes, from several goroutines.
	Call(ctx context.Context, calls []history.Call, done func(int, *tool.Result)) []*tool.Result
	// CallOutcome tells what became of a call that was made before, by its ID. made is
	// false when it has not touched anything, and may be made.
	CallOutcome(ctx context.Context, id string) (result *tool.Result, made bool, err error)
}

// ModelConfig is a model, and how it is asked.
type ModelConfig struct {
	Model    llm.Model
	Settings llm.Request // what every request has: tokens, temperature …
	// Parser finds the calls in the words of a model that is not given tools by
	// its provider; nil for one that is.
	Parser   CallParser
	Fallback *ModelConfig // asked for the rest of a turn in which there is no money left for this one
}

// CallParser finds calls in words.
type CallParser interface {
	// Start begins an answer. write is given its words as they come and returns
	// what of them may be shown; end returns the rest, and the calls.
	Start() (write func(string) string, end func() (string, []llm.ToolCall))
}

// Config is what a loop works with. Brain, Tools, Log and System are needed.
type Config struct {
	Model    *ModelConfig
	Tools    ToolCaller
	ToolDefs []llm.ToolDef // as the model is shown them, always the same
	Log      *history.Log
	System   func() string // asked once for each turn
	// Notices are what the model is to be told before it is asked again: work in
	// the background that ended. May be nil.
	Notices func() []string
	// AwaitTasks is asked when the model has nothing more to say: it reports whether
	// there is news after all, for which it may wait. May be nil.
	AwaitTasks func(ctx context.Context) bool
	MaxTurns   int           // how often the model is asked within one turn; 0: 50
	Timeout    time.Duration // of one turn; 0: none
	// Input and Output are shown what the user says and what the model says,
	// and may change it, or refuse it by an error. May be nil.
	Input, Output func(string) (string, error)
	// Compact is given the messages before each request, and returns how they are
	// to be made fit for the model's window, or nil when they are. May be nil.
	Compact func(ctx context.Context, system string, messages []llm.Message) (*history.Compaction, error)
	// CompactOverflow is given the messages that the provider found too long, once for
	// each request, and returns how they are to be made shorter. May be nil.
	CompactOverflow func(ctx context.Context, system string, messages []llm.Message) (*history.Compaction, error)
}

// Observer is told what happens while it happens; any field may be nil.
type Observer struct {
	Delta    func(llm.Delta)                             // of the answer that is being given
	Event    func(history.Event)                         // as it was written down
	Call     func(history.Call)                          // a call begins
	Ended    func(history.Call, *tool.Result)            // and ends, whichever of them first
	Wait     func(attempt int, err error)                // the model is asked again after a failure
	Fallback func(from, to *ModelConfig, because string) // another brain is asked
}

// Loop runs the turns of one conversation, one at a time.
type Loop struct {
	cfg Config
}

// New makes a loop.
func New(cfg Config) *Loop {
	if cfg.MaxTurns == 0 {
		cfg.MaxTurns = 50
	}
	return &Loop{cfg: cfg}
}

// Turn is one run of the loop: from what the user says to the model's answer.
// It returns how the turn ended, which is also in the log. An error is one of
// the log itself: then nobody knows.
func (l *Loop) Turn(ctx context.Context, words llm.Message, watch Observer) (history.End, error) {
	t := l.turn(watch)
	if l.cfg.Input != nil {
		for i, p := range words.Parts {
			if p.Text == "" {
				continue
			}
			text, err := l.cfg.Input(p.Text)
			if err != nil {
				return history.End{}, err
			}
			words.Parts[i].Text = text
		}
	}
	words.Role = llm.User
	if err := t.write(ctx, history.Event{Type: history.User, Message: &words}); err != nil {
		return history.End{}, err
	}
	return t.run(ctx, t.loop)
}

// Resume takes up a turn that was broken off, where it was. A conversation
// whose last turn ended stays as it is.
func (l *Loop) Resume(ctx context.Context, watch Observer) (history.End, error) {
	t := l.turn(watch)
	var last *history.End
	var turns int
	l.cfg.Log.View(func(s *history.State) { last, turns = s.Last, s.Turns })
	switch {
	case last != nil:
		return *last, nil
	case turns == 0:
		return history.End{}, tool.Errorf("agent.Resume", tool.Invalid, "nothing was said in this conversation yet")
	}
	return t.run(ctx, func(ctx context.Context) (*history.End, error) {
		if err := t.resumeCalls(ctx); err != nil {
			return nil, err
		}
		return t.loop(ctx)
	})
}

// turn is the state of one run.
type turn struct {
	*Loop
	watch  Observer
	brain  *ModelConfig
	system string
	guard  loopGuard
	last   []history.Event // what is written together with the end
}

func (l *Loop) turn(watch Observer) *turn {
	return &turn{Loop: l, watch: watch, brain: l.cfg.Model}
}

// errStop ends a turn in the middle of a step.
type errStop struct{ end history.End }

func (e *errStop) Error() string { return string(e.end.Reason) }

// run steps until the turn has ended, and writes its end down.
func (t *turn) run(ctx context.Context, work func(context.Context) (*history.End, error)) (history.End, error) {
	outer := ctx
	if t.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.cfg.Timeout)
		defer cancel()
	}
	t.system = t.cfg.System()
	end, err := work(ctx)
	if err != nil {
		var stop *errStop
		if !errors.As(err, &stop) {
			return history.End{}, err
		}
		end = &stop.end
	}
	if ctx.Err() != nil && end.Reason != history.Done {
		*end = t.interruptedEnd(outer)
	}
	return *end, t.write(ctx, append(t.last, history.Event{Type: history.TurnEnded, End: end})...)
}

// interruptedEnd is the end of a turn whose context ended.
func (t *turn) interruptedEnd(outer context.Context) history.End {
	if outer.Err() == nil {
		return history.End{Reason: history.TimedOut, Error: fmt.Sprintf("the turn took longer than %v", t.cfg.Timeout)}
	}
	return history.End{Reason: history.Cancelled}
}

// loop asks the model, and again with what its calls gave, until it makes none.
func (t *turn) loop(ctx context.Context) (*history.End, error) {
	for range t.cfg.MaxTurns {
		if ctx.Err() != nil {
			return &history.End{Reason: history.Cancelled}, nil
		}
		if err := t.addNotices(ctx); err != nil {
			return nil, err
		}
		if err := t.compactIfNeeded(ctx); err != nil {
			return nil, err
		}
		answer, err := t.generate(ctx)
		if err != nil {
			return nil, err
		}
		said := history.Event{Type: history.Assistant, Message: &answer.Message, Usage: &answer.Usage, Model: answer.Model}
		calls := answer.Message.Calls()
		switch {
		case len(calls) > 0:
			err = t.call(ctx, said, calls)
		case answer.Stop == llm.StopPause, t.cfg.AwaitTasks != nil && t.cfg.AwaitTasks(ctx):
			err = t.write(ctx, said)
		default:
			t.last = append(t.last, said) // written with the turn's end
			return &history.End{Reason: history.Done}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return &history.End{Reason: history.MaxTurns, Error: fmt.Sprintf("stopped after asking the model %d times", t.cfg.MaxTurns)}, nil
}

// addNotices tells the model what has happened meanwhile.
func (t *turn) addNotices(ctx context.Context) error {
	if t.cfg.Notices == nil {
		return nil
	}
	for _, note := range t.cfg.Notices() {
		m := kernelNote(note)
		if err := t.write(ctx, history.Event{Type: history.Note, Message: &m}); err != nil {
			return err
		}
	}
	return nil
}

// compactIfNeeded makes the conversation fit the model's window.
func (t *turn) compactIfNeeded(ctx context.Context) error {
	if t.cfg.Compact == nil {
		return nil
	}
	c, err := t.cfg.Compact(ctx, t.system, t.cfg.Log.Messages())
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	if c == nil {
		return nil
	}
	return t.write(ctx, history.Event{Type: history.Compacted, Compaction: c})
}

// write writes events down, together, and shows them.
func (t *turn) write(ctx context.Context, events ...history.Event) error {
	if err := t.cfg.Log.Append(ctx, events...); err != nil {
		return err
	}
	for _, e := range events { // numbered by now
		if t.watch.Event != nil {
			t.watch.Event(e)
		}
	}
	return nil
}
