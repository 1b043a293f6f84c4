// Package turnview shows a conversation in the chat's transcript: its history, and the
// turn under way as its events come.
//
// Law: one goroutine owns a View and its Turn, the one that calls its methods. A turn is
// read by a goroutine of its own into a channel, to its end; a command takes all events
// that have come. What concerns other parts of the screen is posted, and a View knows none.
package turnview

import (
	"context"
	"iter"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/transcript"
	"callgate/llm"
	"callgate/tool"
)

// View shows a conversation in the transcript: its history, and the turn
// under way as its events come.
type View struct {
	Script *transcript.Transcript
	Meter  *statusbar.Meter
	Now    func() time.Time
	Post   func(tea.Msg)
	Turn   *Turn // nil: no turn is under way

	human  bool // the human here may answer approvals
	asking bool // the kernel is being asked for its locks
}

// Turn is a turn that is under way.
type Turn struct {
	Stopping bool   // the kernel was asked to stop it
	Late     []Late // what came too late for it
	Alone    bool   // it began by itself

	items  chan turnItem
	cancel context.CancelFunc
	ended  bool // the transcript says how it ended

	answer  *transcript.Answer
	thought *thought
	calls   map[string]*runningCall // by the kernel's ID
	last    *runningCall
	early   []protocol.ScriptCall // whose scripts are not shown yet
	waiting map[string]bool       // calls of scripts that wait for a human
	streams bool                  // the current answer came in pieces

	again time.Time         // when the model is asked again; past: it was
	wait  *transcript.Entry // why it is; nil: something came since

	began time.Time
	usage statusbar.TurnUsage
}

// Late is what the user said to a turn that was over by then: it is the next turn's.
// Shown is the text as the user saw it.
type Late struct{ Shown, Text string }

// turnItem is an event of a turn, or the error that ended it.
type turnItem struct {
	event protocol.TurnEvent
	err   error
}

// runningCall is a call and its place in the transcript.
type runningCall struct {
	*transcript.Call
	entry *transcript.Entry
	asked time.Time // since when a human is asked; zero: nobody is
}

// thought is the model's reasoning and its place in the transcript.
type thought struct {
	*transcript.Collapsible
	entry *transcript.Entry
}

// Events brings the events of a turn that came since the last one. over says
// that it was the last.
type Events struct {
	turn  *Turn
	items []turnItem
	over  bool
}

// What a View posts.
type (
	// Asked says that a call waits for the human here.
	Asked struct{ Approval protocol.Approval }
	// Settled says that what a call waited for was answered, here or elsewhere.
	Settled struct{ Approval string }
	// Questioned says that the agent asks the human here, or that what it asked was settled.
	Questioned struct{ Question protocol.Question }
	// CallEnded says that a call ended.
	CallEnded struct{ Call protocol.AgentCall }
	// Taken says that the turn took what the user had said meanwhile.
	Taken struct {
		ID    int64
		Entry *transcript.Entry // where they stand
	}
	// Ended brings the kernel's summary of a conversation after a turn, and
	// what the user said meanwhile and the model was not told.
	Ended struct {
		Info     protocol.ConversationInfo
		Returned []protocol.QueuedMessage
	}
	// Over says that the turn is over, however it ended, and how long it took.
	Over struct {
		Took  time.Duration
		Late  []Late
		Alone bool
	}
)

// maxItems is how many events one message brings.
const maxItems = 512

// Reset empties the view for another conversation.
func (v *View) Reset(human bool) {
	if v.Turn != nil {
		v.Turn.cancel()
	}
	v.Turn, v.human = nil, human
	v.Script.Clear()
}

// Busy reports whether a turn is under way.
func (v *View) Busy() bool { return v.Turn != nil }

// Note shows a note of the chat itself.
func (v *View) Note(text string) { v.Script.Add(transcript.Note{Text: text}, true) }

// Bad shows a note that something is wrong.
func (v *View) Bad(text string) { v.Script.Add(transcript.Note{Text: text, Bad: true}, true) }

// Fail shows an error.
func (v *View) Fail(err error) { v.Bad(err.Error()) }

// NewAnswer begins an answer of the model.
func (v *View) NewAnswer() *transcript.Answer { return transcript.NewAnswer(v.Script) }

// Toggle shows the details of the block in a row of the transcript, or hides them.
func (v *View) Toggle(row int) {
	if e := v.Script.At(row); e != nil {
		e.Toggle()
	}
}

// Begin runs a turn. A goroutine reads its events into a channel.
func (v *View) Begin(ctx context.Context, run func(context.Context) iter.Seq2[protocol.TurnEvent, error]) tea.Cmd {
	ctx, cancel := context.WithCancel(ctx)
	t := &Turn{items: make(chan turnItem, maxItems), cancel: cancel, calls: map[string]*runningCall{}}
	t.waiting = map[string]bool{}
	t.began = v.Now()
	v.Turn = t
	go func() {
		defer close(t.items)
		defer cancel()
		for event, err := range run(ctx) {
			t.items <- turnItem{event, err}
		}
	}()
	return tea.Batch(t.next(), t.Tick())
}

// next waits for an event, and takes all that have come by then.
func (t *Turn) next() tea.Cmd {
	return func() tea.Msg {
		m := Events{turn: t}
		it, ok := <-t.items
		for ok {
			if m.items = append(m.items, it); len(m.items) == maxItems {
				return m
			}
			select {
			case it, ok = <-t.items:
			default:
				return m
			}
		}
		m.over = true
		return m
	}
}

// Abort stops reading a turn that the kernel could not stop.
func (v *View) Abort(t *Turn) {
	if t != nil && t == v.Turn {
		t.cancel()
	}
}

// Take shows the events of a message.
func (v *View) Take(m Events) tea.Cmd {
	t := m.turn
	if t != v.Turn {
		if !m.over {
			return t.next() // to its end: the goroutine that reads it must not block
		}
		return nil
	}
	for _, it := range m.items {
		if it.err != nil {
			v.turnFailed(it.err)
		} else {
			v.Show(it.event)
		}
	}
	if !m.over {
		return t.next()
	}
	if !t.ended && t.Stopping {
		v.Note("stopped")
	}
	v.Turn = nil
	v.Post(Over{v.Now().Sub(t.began), t.Late, t.Alone})
	return nil
}

// turnFailed says why a turn broke off.
func (v *View) turnFailed(err error) {
	v.Turn.ended = true
	if tool.KindOf(err) == tool.Cancelled && v.Turn.Stopping {
		v.Note("stopped")
		return
	}
	v.Fail(err)
}

// Show shows one event.
func (v *View) Show(e protocol.TurnEvent) {
	if e.Wait == nil {
		v.Turn.again, v.Turn.wait = time.Time{}, nil
	}
	switch {
	case e.Delta != nil:
		v.showDelta(*e.Delta)
	case e.Call != nil:
		v.startCall(*e.Call)
	case e.Output != nil:
		v.showOutput(*e.Output)
	case e.Script != nil:
		v.scriptCall(*e.Script)
	case e.Approval != nil:
		v.asked(*e.Approval)
	case e.Answered != nil:
		v.Turn.innerWaits(e.Answered.Call.ID, false)
		v.Post(Settled{e.Answered.ID})
	case e.Question != nil:
		v.questioned(*e.Question)
	case e.Result != nil:
		v.endCall(*e.Result)
	case e.Event != nil:
		v.recorded(*e.Event)
	case e.Notice != "":
		v.Note(e.Notice)
	case e.Wait != nil:
		v.waits(*e.Wait)
	case e.End != nil:
		v.turnEnded(*e.End)
	}
}

// showDelta shows a piece of the model's answer.
func (v *View) showDelta(d llm.Delta) {
	t := v.Turn
	switch d.Kind {
	case llm.DeltaText:
		t.streams, t.thought = true, nil
		if t.answer == nil {
			t.answer = v.NewAnswer()
		}
		t.answer.Write(d.Text)
		t.usage.Written += len(d.Text)
	case llm.DeltaReasoning:
		if t.thought == nil {
			block := &transcript.Collapsible{Head: "thoughts"}
			t.thought = &thought{block, v.Script.Add(block, true)}
		}
		t.thought.Text += d.Text
		t.usage.Written += len(d.Text)
		t.thought.entry.Touch()
	case llm.DeltaUsage:
		if d.Usage != nil {
			v.Meter.Context = d.Usage.Input + d.Usage.Output
			t.usage.Current = *d.Usage
		}
	}
}

// recorded shows what the kernel wrote into the history, where no other event
// of the turn shows it.
func (v *View) recorded(e protocol.HistoryEvent) {
	t := v.Turn
	switch e.Type {
	case protocol.EventUser:
		if e.Queued != 0 {
			t.answer, t.thought, t.last = nil, nil, nil
			v.Post(Taken{e.Queued, v.showUser(e)})
		}
	case protocol.EventAssistant:
		if text := e.Message.Text(); !t.streams && text != "" {
			t.answer = v.NewAnswer()
			t.answer.Write(text)
		}
		if e.Usage != nil {
			v.Meter.Count(*e.Usage)
			t.usage.Count(*e.Usage)
		}
		t.streams = false
		if text := e.Cut.Text(); text != "" {
			v.Note(text)
		}
		if t.answer != nil && len(e.Message.Calls()) == 0 && !e.Cut.GoesOn() {
			t.answer = nil
			t.last = nil // an empty line sets the next call apart
		}
	case protocol.EventNote:
		if e.Told == nil { // what changed around the conversation, the user sees elsewhere
			t.answer, t.thought, t.last = nil, nil, nil
			v.showNote(e)
		}
	case protocol.EventCompacted:
		v.Note(protocol.CompactionText(e.Compaction))
	}
}

// waits shows that the model is asked again, and removes what it had answered if that
// counts no more.
func (v *View) waits(r llm.Retry) {
	t := v.Turn
	if r.Replaces && t.answer != nil {
		t.answer.Remove()
	}
	if r.Replaces && t.thought != nil {
		v.Script.Remove(t.thought.entry)
	}
	if r.Replaces {
		t.answer, t.thought, t.streams = nil, nil, false
	}
	note := transcript.Note{Text: protocol.WaitText(r, v.Now())}
	t.again = r.At
	if t.wait != nil { // one wait after the other is one thing to know
		t.wait.Replace(note)
		return
	}
	t.wait = v.Script.Add(note, true)
}

// turnEnded says how a turn ended, unless it simply ended.
func (v *View) turnEnded(end protocol.TurnEnd) {
	v.Turn.ended = true
	v.Meter.Set(end.Info)
	v.Post(Ended{end.Info, end.Returned})
	switch end.Reason {
	case protocol.EndDone, "": // "": nothing was to be told
	case protocol.EndCancelled:
		v.Note("stopped")
	case protocol.EndInterrupted:
		v.Bad("the turn was interrupted: " + end.Error + "; it goes on when the conversation is opened again")
	default:
		v.Bad("the turn ended early (" + string(end.Reason) + "): " + end.Error)
	}
}
