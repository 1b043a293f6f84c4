// Package skillruns holds the skills with states that are under way, one in a session at
// most.
//
// # Law
//
//   - In a state only its allowed tools are called. The gate asks [Table.Narrow] about
//     every call of the session, whoever makes it: the model, a control tool in its place,
//     a script. What is begun in a state and runs later, or elsewhere (a watcher, a
//     schedule, the work of another lane), has the state's tools as its limit: see
//     [Table.Only]. Tools that only find others, or have calls made that are judged by
//     themselves, are free.
//   - A state takes rights away and gives none: what the rules deny stays denied.
//   - A run ends in a terminal state, by the user's next words if it is interruptible, by
//     the user's word to stop it, or after max_steps. That last one is a forced stop: then
//     no tool is called until the user has spoken, or another skill has begun.
//   - The run of a conversation is a document, written before its state counts, and it holds
//     the skill as it was when it began. So a kernel that was killed goes on in the same
//     state, and a changed file changes nothing that runs. A call moves it once, however
//     often it is made. A user who goes back in the conversation goes back to the state
//     of then.
package skillruns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"callgate/internal/document"
	"callgate/internal/journal"
	"callgate/internal/skill"
	"callgate/tool"
)

// Run is a skill that is under way.
type Run struct {
	Skill   string          `json:"skill"`
	Digest  string          `json:"digest"`
	Machine *skill.Machine  `json:"machine"`
	State   string          `json:"state"`
	Step    int             `json:"step"`
	Input   json.RawMessage `json:"input,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Ended   End             `json:"ended,omitempty"` // "": it is under way
	Call    string          `json:"call"`            // the last one that moved it
	Told    string          `json:"told"`            // what that call was answered
	Past    []past          `json:"past,omitempty"`  // what it was before, and the runs before it
}

// End is why a run has ended.
type End string

// The ends.
const (
	Done        End = "done"        // in a terminal state
	Interrupted End = "interrupted" // by the user's words
	Stopped     End = "stopped"     // by the user's word
	Forced      End = "forced"      // after its last step
)

// Holds reports whether the run limits what is called.
func (r *Run) Holds() bool { return r != nil && (r.Ended == "" || r.Ended == Forced) }

// Limit is what may be called now.
func (r *Run) limit() skill.State {
	if r.Ended == Forced {
		return skill.State{}
	}
	return r.Machine.States[r.State]
}

// Tell is what the model is told of where the run is.
func (r *Run) Tell() string {
	if r.Ended == Forced {
		return fmt.Sprintf("The skill %s was stopped after its last step, in the state %s. "+
			"No tool is called until the user has spoken: say what was done and what is left.", r.Skill, r.State)
	}
	return r.Machine.Tell(r.Skill, r.State, r.Step)
}

const collection = "skill-runs"

// Table holds the runs of the open sessions. Make one with New.
type Table struct {
	docs     document.Store
	journal  *journal.Journal
	position func(session string) int64

	mu   sync.Mutex
	open map[string]*entry
}

// entry is a session that is open.
type entry struct {
	writing sync.Mutex // one change at a time
	run     *Run       // nil: none; it is replaced, and never changed
	kept    bool       // it outlives the session
}

// New makes a table. position is the last event of a session's conversation, 0 if it has
// none.
func New(docs document.Store, j *journal.Journal, position func(session string) int64) *Table {
	return &Table{docs: docs, journal: j, position: position, open: map[string]*entry{}}
}

// Open makes a session known. kept says that its run outlives it, as a conversation's does.
func (t *Table) Open(ctx context.Context, session string, kept bool) error {
	t.mu.Lock()
	e := t.open[session]
	if e == nil {
		e = &entry{kept: kept}
		t.open[session] = e
	}
	t.mu.Unlock()
	if !kept {
		return nil
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	run, err := t.load(ctx, session)
	if err != nil || run == nil {
		return err
	}
	t.set(e, run)
	return nil
}

// End forgets a session that has ended.
func (t *Table) End(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, session)
}

// Delete forgets the run of a conversation that is deleted.
func (t *Table) Delete(ctx context.Context, session string) error {
	_, err := document.Update(ctx, t.docs, func() ([]document.Change, error) {
		doc, err := t.docs.Get(ctx, collection, session)
		if tool.KindOf(err) == tool.NotFound {
			return nil, nil
		}
		return []document.Change{{Collection: collection, Key: session, If: doc.Version}}, err
	})
	return err
}

func (t *Table) set(e *entry, run *Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.run = run
}

// Of returns the run that limits a session; nil: none does. It is not to be changed.
func (t *Table) Of(session string) *Run {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.open[session]; e != nil && e.run.Holds() {
		return e.run
	}
	return nil
}

// free are the kernel's own tools that may be called in every state: they find tools, move
// the skill, or have calls made that are judged by themselves.
func free() []string {
	return []string{
		"search_tools", "get_tool", "list_categories", "browse_category", "use_skill", "skill_step",
		"execute_tool", "run_parallel", "background_run", "run_script", "collect",
	}
}

// Narrow returns why a session may not call a tool now; nil: it may, as far as skills go.
func (t *Table) Narrow(session string, of *tool.Tool) error {
	run := t.Of(session)
	if run == nil {
		return nil
	}
	if of.Runtime.Control && slices.Contains(free(), of.ID.Name) {
		return nil
	}
	if of.Runtime.Control && of.ID.Namespace == "artifact" { // it reads what this session was answered
		return nil
	}
	limit := run.limit()
	if limit.Allows(of.ID, of.Runtime.Control) {
		return nil
	}
	const op = "skillruns.Narrow"
	if run.Ended == Forced {
		return tool.Errorf(op, tool.Denied, "%s is not allowed: the skill %s was stopped after its last step (%d)",
			of.ID.Dotted(), run.Skill, run.Machine.MaxSteps).
			WithHint("no tool is called until the user has spoken; say what was done and what is left")
	}
	return tool.Errorf(op, tool.Denied, "%s is not allowed in the state %s of the skill %s, which allows %s",
		of.ID.Dotted(), run.State, run.Skill, limit.Offers()).
		WithHint("%s; go on with skill_step", limit.Ways())
}

// Only is what a session may have called later, or elsewhere: actions by module. Nil is no
// limit.
func (t *Table) Only(session string) map[string][]string {
	run := t.Of(session)
	if run == nil {
		return nil
	}
	return run.limit().Only()
}
