// Package history is the log of a conversation: what was said, called and
// answered, in the order it happened.
//
// # Laws
//
//   - The log is append-only, and everything about a conversation is what its
//     events add up to (see [State]). Nothing else is kept.
//   - An event is written before what follows from it happens: the user's words
//     before a model reads them, a proposed call before it is made. So a
//     conversation whose process was killed goes on from its last event. Events
//     do not wait for the disk, but they lie in one log with the journal, so
//     none is lost from before a call whose beginning is on record.
//   - A call is made under an ID that stands in the log, and the kernel's
//     journal knows calls by the same ID. A reader that continues a broken turn
//     asks the journal what became of each call, and makes none twice.
//   - Every proposed call has a result in what a model is shown: one that never
//     came is said to be missing.
//   - The system text that requests begin with stands in the event of the user's
//     words that it was written for, and stays until a later event has another:
//     see [Event.System]. A note has another where the model's server refuses tools.
//   - What the user says while a turn runs is written before it is accepted, as
//     queued. Then the turn takes it, as a message of the user, or gives it back
//     when it ends. A turn that was interrupted keeps it: the turn that goes on, or
//     the next one, takes it first. So nothing that was accepted is lost unsaid.
//   - A turn that nobody stopped says so: it ends as interrupted, or has no end if
//     its process had none. Either is resumed.
//   - A turn that the user did not begin says so: its first event is woken, and notes
//     tell why; or By names who spoke in the user's place. No words are put into the
//     user's mouth.
//   - Two writers cannot both append after the same event: the later one gets
//     a Conflict.
//   - To go back is an event too: from then on a model is shown what it was shown before
//     the turn that the event names. What came after stays in the log, and what it cost
//     stays counted.
package history

import (
	"encoding/json"
	"time"

	"callgate/llm"
	"callgate/tool"
)

// Type says what an event tells.
type Type string

// The types.
const (
	User      Type = "user"       // Message: what the user said; Queued: it had waited; By: who said it instead
	Woken     Type = "woken"      // a turn begins by itself, because of what the notes after it tell
	Queued    Type = "queued"     // Message: what the user said while a turn ran; no model is shown it yet
	Returned  Type = "returned"   // Queued: what had waited was given back to the user, and no model is shown it
	Note      Type = "note"       // Message: what the kernel tells the model between
	Assistant Type = "assistant"  // Message, Usage, Model: what the model answered
	CallMade  Type = "tool_call"  // Call: one of its calls is made now
	CallEnded Type = "tool_ended" // Call.Model and Result: how it ended
	TurnEnded Type = "turn_ended" // End: how the turn ended
	Model     Type = "model"      // Model: from now on this model answers, as PROVIDER/NAME
	AppMode   Type = "app_mode"   // AppMode: from now on the app's mode is this one; Message: what the model is told of it
	Compacted Type = "compacted"  // Compaction: from now on a model is shown less of what was before
	Rewound   Type = "rewound"    // Rewind: from now on a model is not shown a turn and what came after it
)

// Event is one thing that happened.
type Event struct {
	Seq     int64        `json:"seq"` // 1, 2, 3 … within its conversation
	At      time.Time    `json:"at"`
	Type    Type         `json:"type"`
	Message *llm.Message `json:"message,omitempty"`
	Queued  int64        `json:"queued,omitempty"` // the Seq of the event by which it was queued
	// By, of words that are not the user's, is who said them, for people: a trigger.
	By string `json:"by,omitempty"`
	// System, of what begins a turn or of a note, is the system text of the next request
	// and of all that follow, in sections; nil: it stays as it was.
	System []Section `json:"system,omitempty"`
	// Told is what the model knows from a note, or from System, by subject: see
	// [State.Told]. A value is compared, not read.
	Told map[string]string `json:"told,omitempty"`
	// Task, of a note, is the task whose end it tells; of words that are not the user's, what
	// had them said.
	Task       string      `json:"task,omitempty"`
	Tasks      []string    `json:"tasks,omitempty"` // of a note: further tasks whose ends it tells
	Usage      *llm.Usage  `json:"usage,omitempty"` // of a note: what the tasks that it tells of have cost
	Model      string      `json:"model,omitempty"`
	AppMode    string      `json:"app_mode,omitempty"`
	Cut        *Cut        `json:"cut,omitempty"` // of an answer that is not whole
	Call       *Call       `json:"call,omitempty"`
	Result     *Result     `json:"result,omitempty"`
	End        *End        `json:"end,omitempty"`
	Compaction *Compaction `json:"compaction,omitempty"`
	Rewind     *Rewind     `json:"rewind,omitempty"`
}

// Section is a named part of a system text.
type Section struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Cut says that an answer is not whole.
type Cut struct {
	Why CutReason `json:"why"`
	// Note tells the model to go on, right after the answer; "": it does not.
	Note string `json:"note,omitempty"`
}

// CutReason is why an answer is not whole.
type CutReason string

// The reasons.
const (
	CutLength  CutReason = "length"  // the limit of tokens
	CutStopped CutReason = "stopped" // the turn was stopped, or interrupted
	CutBroken  CutReason = "broken"  // the provider failed
)

// GoesOn reports whether the next answer begins where this one was cut off.
func (e Event) GoesOn() bool { return e.Cut != nil && e.Cut.Note != "" }

// LastAnswer is the text of the model's last answer, put together where the limit of tokens
// cut it into several.
type LastAnswer struct {
	Text   string
	goesOn bool
}

// Add takes the next event.
func (a *LastAnswer) Add(e Event) {
	if e.Type != Assistant || e.Message == nil {
		return
	}
	if !a.goesOn {
		a.Text = ""
	}
	a.Text += e.Message.Text()
	a.goesOn = e.GoesOn()
}

// Call is a call of the model, as it is made.
type Call struct {
	Model string          `json:"model"` // the model's own ID for it
	ID    string          `json:"id"`    // the kernel's
	Name  string          `json:"name"`  // as the model wrote it
	Args  json.RawMessage `json:"args,omitempty"`
}

// Result is how a call ended: what the model reads, and a line for people.
type Result struct {
	Status  tool.Status    `json:"status"`
	Summary string         `json:"summary"`
	Content []tool.Content `json:"content,omitempty"`
	// Approval is what a call that has not ended waits for: the question that a
	// human is asked.
	Approval string `json:"approval,omitempty"`
	// Took is how long the tool ran, without what the call waited for before.
	Took time.Duration `json:"took,omitempty"`
}

// Reason is why a turn ended.
type Reason string

// The reasons.
const (
	Done        Reason = "done"        // the model had answered
	MaxTurns    Reason = "max_turns"   // it had asked the model as often as it may
	Stuck       Reason = "stuck"       // the same calls had the same results over and over
	TimedOut    Reason = "timeout"     // the model's time ran out
	Refused     Reason = "refused"     // the model, or a filter of its provider, declined to answer
	CutOff      Reason = "cut"         // the limit of tokens cut the answer off, and it did not go on
	Cost        Reason = "cost"        // it had cost as much as it may
	Cancelled   Reason = "cancelled"   // the user stopped it
	Interrupted Reason = "interrupted" // its client or its kernel went away; it can be resumed
	Failed      Reason = "error"       // the model could not be asked
)

// Interruption is why a turn ended that nobody stopped: the cause of its
// context, in words for people.
type Interruption string

// The interruptions.
const (
	ClientGone         Interruption = "its client went away"
	KernelClosed       Interruption = "its kernel closed"
	ConversationClosed Interruption = "its conversation was closed"
	Unanswered         Interruption = "it asked a human, its client was gone, and nobody answered"
	TakenOver          Interruption = "another client goes on with it"
)

// Error returns the reason.
func (i Interruption) Error() string { return string(i) }

// End is how a turn ended.
type End struct {
	Reason Reason `json:"reason"`
	Error  string `json:"error,omitempty"`
	// Note tells the model, with its next request, that and why the turn ended there;
	// "": it need not know.
	Note string `json:"note,omitempty"`
	// Returned is what the user said during the turn and the model was never told.
	// Events of the log say so too.
	Returned []QueuedMessage `json:"-"`
}

// Compaction changes what a model is shown of what was before it. The log keeps
// everything as it was; the texts that are shown instead stand in the event, so
// that a log adds up to the same for every reader.
//
// Places count the messages as they were shown until now, from 0.
type Compaction struct {
	// Summary stands for the messages that are left out; "": none is.
	Summary string `json:"summary,omitempty"`
	Kept    int    `json:"kept"`             // how many of the last messages stay
	Pinned  []int  `json:"pinned,omitempty"` // places of earlier ones that stay too
	// Shortened are results that are shown in part from now on.
	Shortened []Shortened `json:"shortened,omitempty"`
	Dropped   int         `json:"dropped,omitempty"` // how many messages the summary stands for anew
	Warning   string      `json:"warning,omitempty"` // what people should know about it
	Before    int         `json:"tokens_before,omitempty"`
	After     int         `json:"tokens_after,omitempty"`
	// Usage and Model are those of the summary, where a model wrote it.
	Usage *llm.Usage `json:"usage,omitempty"`
	Model string     `json:"model,omitempty"`
}

// Shortened is a result that is shown in part.
type Shortened struct {
	Message int    `json:"message"` // its place
	Call    string `json:"call"`    // the model's ID of the call
	Text    string `json:"text"`    // what is shown of it
}
