package tui

import (
	"context"
	"iter"
	"time"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/protocol"
	"callgate/internal/tui/approvals"
	"callgate/internal/tui/statusbar"
	"callgate/internal/tui/transcript"
	"callgate/llm"
	"callgate/tool"
)

// turnView shows a conversation in the transcript: its history, and the turn
// under way as its events come.
type turnView struct {
	script *transcript.Transcript
	meter  *statusbar.Meter
	now    func() time.Time
	post   func(tea.Msg)
	human  bool  // the human here may answer approvals
	turn   *turn // nil: no turn is under way
	asking bool  // the kernel is being asked for its locks
}

// turn is a turn that is under way.
type turn struct {
	items    chan turnItem
	cancel   context.CancelFunc
	stopping bool // the kernel was asked to stop it
	ended    bool // the transcript says how it ended

	answer  *transcript.Answer
	thought *thought
	calls   map[string]*runningCall // by the kernel's ID
	last    *runningCall
	streams bool // the current answer came in pieces

	again time.Time         // when the model is asked again; past: it was
	wait  *transcript.Entry // why it is; nil: something came since

	began time.Time
	usage statusbar.TurnUsage
	late  []waiting // what came too late for it
	alone bool      // it began by itself
}

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

// turnMsg brings the events of a turn that came since the last one. over says
// that it was the last.
type turnMsg struct {
	turn  *turn
	items []turnItem
	over  bool
}

// What a turnView posts.
type (
	// askedMsg says that a call waits for the human here.
	askedMsg struct{ approval protocol.Approval }
	// settledMsg says that what a call waited for was answered, here or elsewhere.
	settledMsg struct{ approval string }
	// callEndedMsg says that a call ended.
	callEndedMsg struct{ call protocol.AgentCall }
	// takenMsg says that the turn took what the user had said meanwhile.
	takenMsg struct {
		id    int64
		entry *transcript.Entry // where they stand
	}
	// turnEndedMsg brings the kernel's summary of a conversation after a turn, and
	// what the user said meanwhile and the model was not told.
	turnEndedMsg struct {
		info     protocol.ConversationInfo
		returned []protocol.QueuedMessage
	}
	// turnOverMsg says that the turn is over, however it ended, and how long it took.
	turnOverMsg struct {
		took  time.Duration
		late  []waiting
		alone bool
	}
)

// maxItems is how many events one message brings.
const maxItems = 512

// reset empties the view for another conversation.
func (v *turnView) reset(human bool) {
	if v.turn != nil {
		v.turn.cancel()
	}
	v.turn, v.human = nil, human
	v.script.Clear()
}

// busy reports whether a turn is under way.
func (v *turnView) busy() bool { return v.turn != nil }

func (v *turnView) note(text string) { v.script.Add(transcript.Note{Text: text}, true) }

func (v *turnView) bad(text string) { v.script.Add(transcript.Note{Text: text, Bad: true}, true) }

func (v *turnView) fail(err error) { v.bad(err.Error()) }

func (v *turnView) newAnswer() *transcript.Answer { return transcript.NewAnswer(v.script) }

// toggle shows the details of the block in a row of the transcript, or hides them.
func (v *turnView) toggle(row int) {
	if e := v.script.At(row); e != nil {
		e.Toggle()
	}
}

// begin runs a turn. A goroutine reads its events into a channel.
func (v *turnView) begin(ctx context.Context, run func(context.Context) iter.Seq2[protocol.TurnEvent, error]) tea.Cmd {
	ctx, cancel := context.WithCancel(ctx)
	t := &turn{items: make(chan turnItem, maxItems), cancel: cancel, calls: map[string]*runningCall{}}
	t.began = v.now()
	v.turn = t
	go func() {
		defer close(t.items)
		defer cancel()
		for event, err := range run(ctx) {
			t.items <- turnItem{event, err}
		}
	}()
	return tea.Batch(t.next(), t.tick())
}

// next waits for an event, and takes all that have come by then.
func (t *turn) next() tea.Cmd {
	return func() tea.Msg {
		m := turnMsg{turn: t}
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

// abort stops reading a turn that the kernel could not stop.
func (v *turnView) abort(t *turn) {
	if t != nil && t == v.turn {
		t.cancel()
	}
}

// take shows the events of a message.
func (v *turnView) take(m turnMsg) tea.Cmd {
	t := m.turn
	if t != v.turn {
		if !m.over {
			return t.next() // to its end: the goroutine that reads it must not block
		}
		return nil
	}
	for _, it := range m.items {
		if it.err != nil {
			v.turnFailed(it.err)
		} else {
			v.show(it.event)
		}
	}
	if !m.over {
		return t.next()
	}
	if !t.ended && t.stopping {
		v.note("stopped")
	}
	v.turn = nil
	v.post(turnOverMsg{v.now().Sub(t.began), t.late, t.alone})
	return nil
}

// turnFailed says why a turn broke off.
func (v *turnView) turnFailed(err error) {
	v.turn.ended = true
	if tool.KindOf(err) == tool.Cancelled && v.turn.stopping {
		v.note("stopped")
		return
	}
	v.fail(err)
}

// show shows one event.
func (v *turnView) show(e protocol.TurnEvent) {
	if e.Wait == nil {
		v.turn.again, v.turn.wait = time.Time{}, nil
	}
	switch {
	case e.Delta != nil:
		v.showDelta(*e.Delta)
	case e.Call != nil:
		v.startCall(*e.Call)
	case e.Output != nil:
		v.showOutput(*e.Output)
	case e.Approval != nil:
		v.asked(*e.Approval)
	case e.Answered != nil:
		v.post(settledMsg{e.Answered.ID})
	case e.Result != nil:
		v.endCall(*e.Result)
	case e.Event != nil:
		v.recorded(*e.Event)
	case e.Notice != "":
		v.note(e.Notice)
	case e.Wait != nil:
		v.waits(*e.Wait)
	case e.End != nil:
		v.turnEnded(*e.End)
	}
}

// showDelta shows a piece of the model's answer.
func (v *turnView) showDelta(d llm.Delta) {
	t := v.turn
	switch d.Kind {
	case llm.DeltaText:
		t.streams, t.thought = true, nil
		if t.answer == nil {
			t.answer = v.newAnswer()
		}
		t.answer.Write(d.Text)
		t.usage.Written += len(d.Text)
	case llm.DeltaReasoning:
		if t.thought == nil {
			block := &transcript.Collapsible{Head: "thoughts"}
			t.thought = &thought{block, v.script.Add(block, true)}
		}
		t.thought.Text += d.Text
		t.usage.Written += len(d.Text)
		t.thought.entry.Touch()
	case llm.DeltaUsage:
		if d.Usage != nil {
			v.meter.Context = d.Usage.Input + d.Usage.Output
			t.usage.Current = *d.Usage
		}
	}
}

// asked shows that a call waits for a human, and posts it if the human here may
// answer.
func (v *turnView) asked(a protocol.Approval) {
	if call := v.turn.calls[a.Call.ID]; call != nil {
		call.Waiting, call.asked = "waits for a human", v.now()
		call.entry.Touch()
	}
	if !v.human {
		v.note(a.Call.Tool.Dotted() + " waits for a human: " + a.Reason +
			"\nIt cannot be answered here; elsewhere: callgate approvals approve " + a.ID)
		return
	}
	v.post(askedMsg{a})
}

// answered shows that a human let a call run, with the arguments that they gave it.
func (v *turnView) answered(m approvals.Answered) {
	if v.turn == nil {
		return
	}
	if call := v.turn.calls[m.Call]; call != nil {
		call.Waiting = ""
		if !call.asked.IsZero() { // what the human took is not the call's
			call.Began = call.Began.Add(v.now().Sub(call.asked))
			call.asked = time.Time{}
		}
		if len(m.Args) > 0 {
			call.Args = m.Args
		}
		call.entry.Touch()
	}
}

// recorded shows what the kernel wrote into the history, where no other event
// of the turn shows it.
func (v *turnView) recorded(e protocol.HistoryEvent) {
	t := v.turn
	switch e.Type {
	case protocol.EventUser:
		if e.Queued != 0 {
			t.answer, t.thought, t.last = nil, nil, nil
			v.post(takenMsg{e.Queued, v.showUser(e)})
		}
	case protocol.EventAssistant:
		if text := e.Message.Text(); !t.streams && text != "" {
			t.answer = v.newAnswer()
			t.answer.Write(text)
		}
		if e.Usage != nil {
			v.meter.Count(*e.Usage)
			t.usage.Count(*e.Usage)
		}
		t.streams = false
		if text := e.Cut.Text(); text != "" {
			v.note(text)
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
		v.note(protocol.CompactionText(e.Compaction))
	}
}

// waits shows that the model is asked again, and removes what it had answered if that
// counts no more.
func (v *turnView) waits(r llm.Retry) {
	t := v.turn
	if r.Replaces && t.answer != nil {
		t.answer.Remove()
	}
	if r.Replaces && t.thought != nil {
		v.script.Remove(t.thought.entry)
	}
	if r.Replaces {
		t.answer, t.thought, t.streams = nil, nil, false
	}
	note := transcript.Note{Text: protocol.WaitText(r, v.now())}
	t.again = r.At
	if t.wait != nil { // one wait after the other is one thing to know
		t.wait.Replace(note)
		return
	}
	t.wait = v.script.Add(note, true)
}

// turnEnded says how a turn ended, unless it simply ended.
func (v *turnView) turnEnded(end protocol.TurnEnd) {
	v.turn.ended = true
	v.meter.Set(end.Info)
	v.post(turnEndedMsg{end.Info, end.Returned})
	switch end.Reason {
	case protocol.EndDone, "": // "": nothing was to be told
	case protocol.EndCancelled:
		v.note("stopped")
	case protocol.EndInterrupted:
		v.bad("the turn was interrupted: " + end.Error + "; it goes on when the conversation is opened again")
	default:
		v.bad("the turn ended early (" + string(end.Reason) + "): " + end.Error)
	}
}
