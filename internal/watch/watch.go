// Package watch is what a watcher is: a call that is made again and again, and when
// what comes of it is worth telling. It runs nothing; internal/kernel/watchers does.
//
// # Laws
//
//   - A specification is whole and checked before its watcher exists: the interval, the
//     limits, and the condition against what is known of the result.
//   - A check is decided by what it gave and by what is kept of the checks before it,
//     and by nothing else. So a watcher that goes on after a restart decides as it
//     would have, and tells nothing twice.
//   - What is told is an event, not a state: that the result changed, that the condition
//     became true, that checks began to fail or work again. Only every_check, summary
//     and repeat tell more.
//   - A watcher whose checks keep failing says so once, whatever it tells otherwise.
//   - Checks are due at their times, counted from the first: they do not drift, and times
//     that have passed are left out and not made up for, after a slow check, a suspended
//     machine or a clock that jumped.
package watch

import (
	"encoding/json"
	"strings"
	"time"

	"callgate/internal/condition"
	"callgate/tool"
)

// The limits of a specification.
const (
	MinInterval     = time.Second
	MaxInterval     = time.Hour
	DefaultInterval = 30 * time.Second
	MaxLabel        = 256
	MaxName         = 256
	MaxChecks       = 10_000
	MaxBatch        = 100
	DefaultBatch    = 10
	MaxActions      = 10
	MaxParams       = 64 << 10 // bytes of params
	MaxLife         = 10 * 365 * 24 * time.Hour
)

// Strategy is when a watcher tells of a check.
type Strategy string

// The strategies.
const (
	OnChange    Strategy = "on_change"    // the result or the error is another than before
	OnCondition Strategy = "on_condition" // a condition became true
	OnError     Strategy = "on_error"     // checks begin to fail, or work again
	EveryCheck  Strategy = "every_check"
	Summary     Strategy = "summary" // a number of checks together
)

// strategyNames are the strategies by all their names.
var strategyNames = [...]struct {
	name string
	is   Strategy
}{
	{"on_change", OnChange}, {"on_condition", OnCondition}, {"on_threshold", OnCondition}, {"on_error", OnError},
	{"every_check", EveryCheck}, {"always", EveryCheck}, {"summary", Summary},
}

// Spec is what a watcher does. It is the input of its task.
type Spec struct {
	Tool      string          `json:"tool"` // dotted; Journal for the journal itself
	Params    json.RawMessage `json:"params,omitempty"`
	Interval  time.Duration   `json:"interval"`
	Label     string          `json:"label,omitempty"`
	MaxChecks int             `json:"max_checks,omitempty"` // 0: no limit
	Expires   time.Time       `json:"expires,omitzero"`     // the zero time: never
	Notify    Notify          `json:"notify"`
	Actions   []Action        `json:"actions,omitempty"` // made when it tells, in order
}

// Notify is when a watcher tells.
type Notify struct {
	When       Strategy `json:"when"`
	Expression string   `json:"expression,omitempty"` // of OnCondition
	Repeat     bool     `json:"repeat,omitempty"`     // of OnCondition: also while it stays true
	Batch      int      `json:"batch,omitempty"`      // of Summary
	First      bool     `json:"first,omitempty"`      // the first check is told, whatever it gave
}

// Action is a call that follows when a watcher tells.
type Action struct {
	Tool   string          `json:"tool"`
	Params json.RawMessage `json:"params,omitempty"` // with places for values: see condition.Template
}

// Journal is the name that watches the journal itself.
const Journal = "journal"

// Env is what the condition of a watcher, and the places in its actions, may speak of.
// result is what is known of the tool's result.
func Env(result condition.Type) condition.Env {
	return condition.Env{
		Implied: "result",
		Roots: map[string]condition.Type{
			"result": result, "previous": result,
			"error": {Kind: condition.Text},
			"check": {Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{
				"number": {Kind: condition.Number}, "at": {Kind: condition.Text}, "failed": {Kind: condition.Bool},
				"took_ms": {Kind: condition.Number}, "changed": {Kind: condition.Bool}, "why": {Kind: condition.Text},
			}},
			"watcher": {Kind: condition.Map, Closed: true, Fields: map[string]condition.Type{
				"id": {Kind: condition.Text}, "label": {Kind: condition.Text}, "tool": {Kind: condition.Text},
			}},
		},
	}
}

// program is a specification that is ready to run.
type program struct {
	condition *condition.Condition // of OnCondition
	actions   []*condition.Template
}

// compile reads the expressions of a specification.
func (s *Spec) compile(result condition.Type) (program, error) {
	var p program
	env := Env(result)
	if s.Notify.When == OnCondition {
		c, err := condition.Compile(s.Notify.Expression, env)
		if err != nil {
			return p, within("notify_config.expression", err)
		}
		p.condition = c
	}
	for _, a := range s.Actions {
		t, err := condition.CompileTemplate(a.Params, env)
		if err != nil {
			return p, within("actions: "+tool.Truncate(a.Tool), err)
		}
		p.actions = append(p.actions, t)
	}
	return p, nil
}

// within says to what an error belongs.
func within(where string, err error) error {
	if e, ok := err.(*tool.Error); ok {
		mended := *e
		mended.Op, mended.Message = op, where+": "+e.Message
		return &mended
	}
	return err
}

// strategy reads the name of a strategy.
func strategy(name string) (Strategy, bool) {
	for _, s := range strategyNames {
		if strings.EqualFold(s.name, strings.TrimSpace(name)) {
			return s.is, true
		}
	}
	return "", false
}
