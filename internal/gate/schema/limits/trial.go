package limits

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The cost limits of values that come with a schema: of each, and of all in one
// trial.
const (
	maxTried  = maxEffort / 10
	maxTrials = maxEffort / 2
)

// TrialRun validates values that a schema contains, or that were built for it,
// against its subschemas. A schema can contain thousands of costly values, so
// they share one budget; when it is used up, every further value is refused. A
// trial is for one goroutine.
type TrialRun struct {
	budget Budget
	spent  int
}

// Trial starts a trial with a budget of its own.
func (b Budget) Trial() *TrialRun { return &TrialRun{budget: b} }

var errTooExpensive = errors.New("it would take too many steps to check")

// Allows charges the trial for validating value under s, or returns an error if
// that costs too much.
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

// Validate validates value under s, if the budget allows it.
func (t *TrialRun) Validate(s *jsonschema.Schema, value any) error {
	if err := t.Allows(s, value); err != nil {
		return err
	}
	return s.Validate(value)
}
