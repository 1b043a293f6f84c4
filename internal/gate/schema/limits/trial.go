package limits

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What values that came with a schema may cost: each, and all of one trial.
const (
	maxTried  = maxEffort / 10
	maxTrials = maxEffort / 2
)

// TrialRun holds values that were found in a schema, or made up for it, against
// its subschemas. A schema can bring thousands of them, each as costly as it
// likes, so they share one purse: when that is spent, no value fits any more.
// A trial is for one goroutine.
type TrialRun struct {
	budget Budget
	spent  int
}

// Trial begins one.
func (b Budget) Trial() *TrialRun { return &TrialRun{budget: b} }

var errTooExpensive = errors.New("it would take too many steps to check")

// Allows pays for laying s on value, or reports that this costs too much.
func (t *TrialRun) Allows(s *jsonschema.Schema, value any) error {
	if t.spent >= maxTrials {
		return errTooExpensive
	}
	cost := costs(s, value)
	t.spent += min(cost, maxTried)
	if cost > maxTried || t.budget.tooDeep(value) {
		return errTooExpensive
	}
	return nil
}

// Validate is what the validator says of value under s, where it may be asked.
func (t *TrialRun) Validate(s *jsonschema.Schema, value any) error {
	if err := t.Allows(s, value); err != nil {
		return err
	}
	return s.Validate(value)
}
