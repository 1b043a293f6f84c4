package history

import (
	"maps"
	"slices"

	"callgate/internal/fence"
	"callgate/llm"
	"callgate/tool"
)

// State is what events add up to. The zero value is a conversation in which
// nothing was said.
type State struct {
	Seq      int64         // of the last event
	Messages []llm.Message // as a model is shown them
	Origins  []Origin      // where each of them is from
	System   []Section     // the system text of requests; nil: none was written yet
	Turns    int           // how many turns were begun
	Alone    int           // how many of the last turns began by themselves, without a word said between
	Calls    int           // how many calls were made
	Usage    llm.Usage
	Model    string // the model that was chosen, as PROVIDER/NAME; "": the agent's own
	AppMode  string // the mode of the app that was chosen; "": the one in which it begins
	Last     *End   // how the last turn ended; nil: it goes on, or its process ended
	open     []*pendingCall
	queued   []QueuedMessage
	noted    map[string]bool   // tasks whose end a note tells
	told     map[string]string // what System tells
	starts   []turnStart
}

// Origin says where a message is from.
type Origin struct {
	// Type is the event's: User, Note, Assistant, Compacted for a summary, and
	// CallEnded for results.
	Type Type
	// WaitsForApproval are the questions for a human that results in it wait for, by the
	// model's ID of the call.
	WaitsForApproval map[string]string
	// Calls are the kernel's IDs of the calls whose results it holds.
	Calls []string
	// Told is what a note tells: see Event.Told.
	Told map[string]string
}

// pendingCall is a proposed call that has no result yet.
type pendingCall struct {
	proposed llm.ToolCall
	made     *Call // nil: it was never made
}

// Replay adds events up.
func Replay(events []Event) *State {
	s := &State{}
	for _, e := range events {
		s.Apply(e)
	}
	return s
}

// Apply adds one event.
func (s *State) Apply(e Event) {
	s.Seq = e.Seq
	switch e.Type {
	case User, Woken:
		s.begin(e)
	case Queued:
		s.queued = append(slices.Clip(s.queued), QueuedMessage{ID: e.Seq, Message: *e.Message})
	case Returned:
		s.unqueue(e.Queued)
	case Note:
		if e.Told != nil { // it stands before the user's words, which break off what was open
			s.settle("the turn was broken off before this call ended")
		}
		if e.System != nil {
			s.System, s.told = e.System, e.Told
		}
		s.addMessage(Note, *e.Message)
		s.Origins[len(s.Origins)-1].Told = e.Told
		if e.Usage != nil {
			s.Usage = s.Usage.Add(*e.Usage)
		}
		s.note(e.Task)
		s.note(e.Tasks...)
	case Assistant:
		s.settle("the turn was broken off before this call ended")
		s.addMessage(Assistant, *e.Message)
		if e.Usage != nil {
			s.Usage = s.Usage.Add(*e.Usage)
		}
		for _, c := range e.Message.Calls() {
			s.open = append(s.open, &pendingCall{proposed: c})
		}
		if e.Cut != nil && len(s.open) == 0 {
			s.tell(e.Cut.Note)
		}
	case CallMade:
		s.Calls++
		if p := s.find(e.Call.Model); p != nil {
			p.made = e.Call
		}
	case CallEnded:
		s.answer(e.Call.Model, *e.Result)
	case TurnEnded:
		s.end(e.End)
	case Model:
		s.Model = e.Model
	case AppMode:
		s.AppMode = e.AppMode
		s.addMessage(Note, *e.Message)
	case Rewound:
		s.rewind(*e.Rewind)
	case Compacted:
		s.compact(*e.Compaction)
		if u := e.Compaction.Usage; u != nil {
			s.Usage = s.Usage.Add(*u)
		}
	}
}

// begin adds what begins a turn, or what the user said while one ran.
func (s *State) begin(e Event) {
	s.settle("the turn was broken off before this call ended")
	if e.Queued == 0 {
		s.starts = append(s.starts, s.start(e.Seq))
	}
	s.Alone++
	if e.Type == User {
		s.addMessage(User, *e.Message)
		s.note(e.Task)
		s.Alone = 0
	}
	if e.System != nil {
		s.System, s.told = e.System, e.Told
	}
	s.unqueue(e.Queued)
	if e.Queued == 0 {
		s.Turns++
	}
	s.Last = nil
}

// end ends a turn. The calls of one that was interrupted go on when it is resumed.
func (s *State) end(e *End) {
	if e.Reason != Interrupted || e.Note != "" {
		s.settle("the turn ended before this call did")
	}
	s.tell(e.Note)
	s.Last = e
}

// tell adds a note to the model, unless it is empty.
func (s *State) tell(note string) {
	if note != "" {
		s.addMessage(Note, KernelNote(note))
	}
}

// KernelNote returns a message of the kernel to the model, marked so that the model
// does not take it for the user's.
func KernelNote(text string) llm.Message {
	return llm.TextMessage(llm.User, fence.Note(text))
}

func (s *State) find(model string) *pendingCall {
	for _, p := range s.open {
		if p.proposed.ID == model {
			return p
		}
	}
	return nil
}

func (s *State) note(tasks ...string) {
	for _, task := range tasks {
		if task == "" {
			continue
		}
		if s.noted == nil {
			s.noted = map[string]bool{}
		}
		s.noted[task] = true
	}
}

// Broken reports whether the last turn can be resumed: it never ended, or ended
// as Interrupted.
func (s *State) Broken() bool {
	return s.Turns > 0 && (s.Last == nil || s.Last.Reason == Interrupted)
}

// Noted reports whether a note tells the end of a task, or a task had words said.
func (s *State) Noted(task string) bool { return s.noted[task] }

// Told returns what a model that is shown this state knows of a subject: what the
// last note about it says that was not left out by a compaction, or else what the
// system text says. ok is false if neither is about it.
func (s *State) Told(subject string) (value string, ok bool) {
	for i := len(s.Origins) - 1; i >= 0; i-- {
		if value, ok := s.Origins[i].Told[subject]; ok {
			return value, true
		}
	}
	value, ok = s.told[subject]
	return value, ok
}

// OpenCalls returns the calls that have no result yet, in the model's order; made is
// nil for one that was only proposed.
func (s *State) OpenCalls() (proposed []llm.ToolCall, made []*Call) {
	for _, p := range s.open {
		proposed, made = append(proposed, p.proposed), append(made, p.made)
	}
	return proposed, made
}

// addMessage adds a message. Words between a model's calls and their results would
// part them: they are held back by the caller, never by the state.
func (s *State) addMessage(from Type, m llm.Message) {
	s.Messages, s.Origins = append(s.Messages, m), append(s.Origins, Origin{Type: from})
}

// answer adds a call's result to the message of results, in the order of the
// calls, whichever ended first.
func (s *State) answer(model string, r Result) {
	p := s.find(model)
	if p == nil {
		return // of a call that was settled already
	}
	s.open = slices.DeleteFunc(s.open, func(o *pendingCall) bool { return o == p })
	part := llm.Part{Result: &llm.ToolResult{
		ID: p.proposed.ID, Name: p.proposed.Name, Content: r.Content,
		IsError: r.Status != tool.Success && r.Status != tool.Waiting,
	}}
	last := len(s.Messages) - 1
	if s.Messages[last].Role != llm.Tool {
		s.addMessage(CallEnded, llm.Message{Role: llm.Tool})
		last++
	}
	order := s.order()
	m := &s.Messages[last]
	at := slices.IndexFunc(m.Parts, func(o llm.Part) bool { return order[o.Result.ID] > order[p.proposed.ID] })
	if at < 0 {
		at = len(m.Parts)
	}
	m.Parts = slices.Insert(slices.Clone(m.Parts), at, part) // a shown message is not changed
	if p.made != nil {
		s.Origins[last].Calls = append(slices.Clip(s.Origins[last].Calls), p.made.ID) // the old slice may be in use
	}
	if r.Status == tool.Waiting && r.Approval != "" {
		waits := map[string]string{p.proposed.ID: r.Approval}
		maps.Copy(waits, s.Origins[last].WaitsForApproval) // a caller that holds the old map sees no change
		s.Origins[last].WaitsForApproval = waits
	}
}

// order is the place of each of the last proposed calls.
func (s *State) order() map[string]int {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == llm.Assistant {
			order := map[string]int{}
			for n, c := range s.Messages[i].Calls() {
				order[c.ID] = n
			}
			return order
		}
	}
	return nil
}

// settle gives every call that is still open a result that says why it has none.
func (s *State) settle(why string) {
	for len(s.open) > 0 {
		s.answer(s.open[0].proposed.ID, Result{Status: tool.Failure, Summary: why, Content: []tool.Content{tool.Text(why)}})
	}
}
