package watch

import (
	"encoding/json"
	"time"

	"callgate/internal/condition"
	"callgate/tool"
)

// Status is where a watcher stands.
type Status string

// The statuses. The last three are of one that has ended.
const (
	Running   Status = "running"
	Paused    Status = "paused"
	Stopped   Status = "stopped"   // by somebody
	Completed Status = "completed" // its checks are made, or its time is over
	Failed    Status = "failed"    // it may not go on
)

// The bounds of what is kept of checks.
const (
	MaxHistory     = 100
	PreviewNotice  = 2000 // characters of a result in a notice
	PreviewHistory = 500
	maxPrevious    = 16 << 10 // bytes of a result that are kept over a restart, for conditions
	failuresTold   = 5        // failures in a row that are told whatever the strategy
)

// State is what a watcher knows between checks. It is the data of its task.
type State struct {
	Status  Status    `json:"status"`
	Checks  int       `json:"checks"`
	Notices int       `json:"notices"` // how many were told
	Next    time.Time `json:"next,omitzero"`
	Last    Last      `json:"last,omitzero"`
	Metrics Metrics   `json:"metrics,omitzero"`
	History []Entry   `json:"history,omitempty"` // the oldest first
	Batch   []Entry   `json:"batch,omitempty"`   // of Summary: not told yet
	// Pending is a notice that was decided, and may or may not have been told: it is
	// kept before it is told, and told again under the same ID.
	Pending *Notice `json:"pending,omitempty"`
	Why     string  `json:"why,omitempty"`    // how it ended
	Cursor  uint64  `json:"cursor,omitempty"` // of a watcher of the journal: the last record that was checked
}

// Last is what the last check gave.
type Last struct {
	At       time.Time       `json:"at,omitzero"`
	Digest   string          `json:"digest,omitempty"` // of the result or the error; "": there was none
	Preview  string          `json:"preview,omitempty"`
	Error    string          `json:"error,omitempty"`
	Failures int             `json:"failures,omitempty"` // in a row
	Matched  bool            `json:"matched,omitempty"`  // the condition was true
	Problem  string          `json:"problem,omitempty"`  // why the condition could not be decided
	Result   json.RawMessage `json:"result,omitempty"`   // the last that did not fail, if it is small
}

// Metrics are numbers about the checks of a watcher.
type Metrics struct {
	Failures int     `json:"failures"`
	Changes  int     `json:"changes"`
	Missed   int     `json:"missed"` // times that passed without a check
	Pushed   int     `json:"pushed"` // checks that were made because something changed
	TotalMS  float64 `json:"total_ms"`
	MaxMS    float64 `json:"max_ms"`
	LastMS   float64 `json:"last_ms"`
}

// Entry is one check in the history.
type Entry struct {
	Number   int       `json:"check_number"`
	At       time.Time `json:"timestamp"`
	Notified bool      `json:"notified"`
	Result   string    `json:"result,omitempty"` // its beginning
	Error    string    `json:"error,omitempty"`
	Same     bool      `json:"unchanged,omitempty"` // as the check before it
}

// Notice is news of a watcher.
type Notice struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Check   int    `json:"check"`
	Done    bool   `json:"done,omitempty"` // it was told, and its actions were made
	Actions []Call `json:"actions,omitempty"`
}

// Call is an action with its places filled in.
type Call struct {
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params,omitempty"`
	Error  string          `json:"error,omitempty"` // why it cannot be made
}

// Watcher decides about the checks of one specification. It is not safe for
// concurrent use.
type Watcher struct {
	ID string
	Spec
	State

	program
	raw string // the digest of the last result as it came
}

// New makes a watcher. result is what is known of the tool's result.
func New(id string, s Spec, result condition.Type) (*Watcher, error) {
	return Restore(id, s, State{Status: Running}, result)
}

// Restore makes a watcher that goes on from a state.
func Restore(id string, s Spec, state State, result condition.Type) (*Watcher, error) {
	p, err := s.compile(result)
	if err != nil {
		return nil, err
	}
	if state.Status == "" {
		state.Status = Running
	}
	return &Watcher{ID: id, Spec: s, State: state, program: p}, nil
}

// Expired reports whether the watcher's time is over.
func (w *Watcher) Expired(now time.Time) bool {
	return !w.Expires.IsZero() && !now.Round(0).Before(w.Expires.Round(0))
}

// remember adds a check to the history, and forgets the oldest.
func (w *Watcher) remember(e Entry) {
	w.History = append(w.History, e)
	if len(w.History) <= MaxHistory {
		return
	}
	gone, next := w.History[0], &w.History[1]
	if next.Same {
		next.Result, next.Error, next.Same = gone.Result, gone.Error, false
	}
	w.History = w.History[1:] // append moves the rest now and then
}

// Entries returns the last n checks, the oldest first, each with what it gave.
func (w *Watcher) Entries(n int) []Entry {
	out := make([]Entry, 0, min(n, len(w.History)))
	var last Entry
	for i, e := range w.History {
		if e.Same {
			e.Result, e.Error = last.Result, last.Error
		}
		last = e
		if i >= len(w.History)-n {
			out = append(out, e)
		}
	}
	return out
}

// Pause stops the checks of a watcher that runs; its timetable goes on.
func (w *Watcher) Pause() error { return w.turn(Running, Paused, "paused") }

// Resume lets a paused watcher check again.
func (w *Watcher) Resume() error { return w.turn(Paused, Running, "resumed") }

func (w *Watcher) turn(from, to Status, what string) error {
	if w.Status != from {
		return tool.Errorf("watch", tool.Conflict, "the watcher %s is %s, and only one that is %s can be %s",
			w.ID, w.Status, from, what)
	}
	w.Status = to
	return nil
}

// End ends the watcher.
func (w *Watcher) End(as Status, why string) {
	w.Status, w.Why, w.Next = as, why, time.Time{}
}
