package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"callgate/internal/gate/schema/diagnose"
	"callgate/internal/gate/schema/phrase"
	"callgate/internal/gate/schema/walk"
)

const (
	maxRounds    = 8   // a coercion inside another needs a round of its own
	maxCoercions = 500 // coercions in one value
	maxReported  = 20  // coercions reported one by one
)

// step is a coercion that was made: the path, the value before, and the note that
// reports it.
type step struct {
	at     []string
	before any
	act    action
	note   string
}

// repairRun coerces the values of one document until it is valid.
type repairRun struct {
	schema   *Schema
	mode     Mode
	fill     bool // whether defaults are filled in as well
	added    int  // the weight of the defaults filled in
	size     int  // the length of the original text in bytes
	value    any
	steps    []step
	wrapped  map[string]bool    // paths where a list of one was made
	kept     map[string]bool    // paths where null does not mean absent
	problems []diagnose.Problem // the problems of value; empty if it is valid
}

// errEndless means that a schema's defaults cause ever more defaults, or more than
// a value may hold.
var errEndless = errors.New("the schema's defaults have no end")

// run coerces values of the wrong type until the whole is valid or nothing more
// can be done.
func (r *repairRun) run() error {
	for range maxRounds {
		if len(r.problems) == 0 || !r.round() {
			break
		}
		if err := r.checkBudget(); err != nil {
			return err
		}
		r.restoreNulls()
		if r.fill {
			added, ok := r.schema.fillIn(r.value, r.size+r.added*weightBytes)
			if !ok {
				return errEndless
			}
			r.added += added
		}
		if err := r.validate(); err != nil {
			return err
		}
	}
	return nil
}

// checkBudget returns an error if validating the value would cost too much.
func (r *repairRun) checkBudget() error {
	return r.schema.budget.Allows(r.value, r.size+r.added*weightBytes)
}

func (r *repairRun) validate() error {
	if err := r.checkBudget(); err != nil {
		return err
	}
	r.problems = diagnose.Validate(r.schema.root, r.value)
	return nil
}

// round tries one coercion at each path with a problem. It reports whether it
// changed anything. If there are more problems than maxCoercions, it changes
// nothing: a value so far from its schema is better refused, and each coercion
// costs time and memory.
func (r *repairRun) round() bool {
	if len(r.steps)+len(r.problems) > maxCoercions {
		return false
	}
	changed := false
	var last []string
	for _, p := range r.problems {
		if changed && slices.Equal(p.At, last) {
			continue
		}
		before, ok := walk.At(r.value, p.At)
		if !ok {
			continue
		}
		c, ok := r.read(p, before)
		if !ok || !r.apply(c, p.At) {
			continue
		}
		r.steps = append(r.steps, step{p.At, before, c.act, phrase.Subject(r.value, p.At) + ": " + c.note})
		changed, last = true, p.At
	}
	return changed
}

// read returns the coercion for a problem: null for an optional property is
// dropped, any other value is coerced by itself.
func (r *repairRun) read(p diagnose.Problem, value any) (candidate, bool) {
	if value == nil && r.mode == Lenient && r.optional(p.At) {
		return candidate{act: drop, note: "null taken as absent"}, true
	}
	return read(p.Kind, value, r.mode)
}

func (r *repairRun) apply(c candidate, at []string) (ok bool) {
	switch {
	case c.act == drop:
		return walk.Remove(r.value, at)
	case c.act == wrap && !r.wrap(at):
		return false
	}
	r.value, ok = walk.Replace(r.value, at, c.value)
	return ok
}

// optional reports whether the property at a path may be left out, as far as is
// known before it is tried. The schema must name the property. In a map, where
// the caller chooses the names, a null entry is there on purpose.
func (r *repairRun) optional(at []string) bool {
	if len(at) == 0 || r.kept[key(at)] {
		return false
	}
	parent, name := at[:len(at)-1], at[len(at)-1]
	if object, _ := walk.At(r.value, parent); phrase.TypeName(object) != "object" {
		return false
	}
	named := func(s *jsonschema.Schema) bool { return s.Properties[name] != nil }
	return slices.ContainsFunc(walk.Locate(r.schema.root, r.value, parent), named)
}

// restoreNulls restores each dropped null whose property turns out to be required,
// before a default could replace it.
func (r *repairRun) restoreNulls() {
	if !slices.ContainsFunc(r.steps, func(s step) bool { return s.act == drop }) {
		return
	}
	problems := diagnose.Validate(r.schema.root, r.value)
	r.steps = slices.DeleteFunc(r.steps, func(s step) (undone bool) {
		if s.act != drop || !isMissing(problems, s.at) {
			return false
		}
		if r.value, undone = walk.Replace(r.value, s.at, nil); undone {
			if r.kept == nil {
				r.kept = map[string]bool{}
			}
			r.kept[key(s.at)] = true
		}
		return undone
	})
}

// isMissing reports whether the absence of a property is one of the problems.
func isMissing(problems []diagnose.Problem, at []string) bool {
	parent, name := at[:len(at)-1], at[len(at)-1]
	return slices.ContainsFunc(diagnose.At(problems, parent), func(p diagnose.Problem) bool {
		_, tooFew := p.Kind.(*kind.MinProperties)
		return tooFew || slices.Contains(p.Missing(), name)
	})
}

// key returns a path as the key of a map.
func key(at []string) string { return strings.Join(at, "\x00") }

// wrap notes that a list of one is made at a path. It refuses a list of one inside
// another: no caller means that.
func (r *repairRun) wrap(at []string) bool {
	if n := len(at); n > 0 && at[n-1] == "0" && r.wrapped[key(at[:n-1])] {
		return false
	}
	if r.wrapped == nil {
		r.wrapped = map[string]bool{}
	}
	r.wrapped[key(at)] = true
	return true
}

// unwrap undoes each list of one that did not help, so that the error describes
// the value that came.
func (r *repairRun) unwrap() error {
	undone := false
	for _, s := range slices.Backward(r.steps) {
		if s.act == wrap && diagnose.Within(r.problems, s.at) {
			r.value, _ = walk.Replace(r.value, s.at, s.before)
			undone = true
		}
	}
	if !undone {
		return nil
	}
	return r.validate()
}

// notes returns the sentences that report the coercions.
func (r *repairRun) notes() []string {
	var notes []string
	for _, s := range r.steps[:min(len(r.steps), maxReported)] {
		notes = append(notes, s.note)
	}
	if more := len(r.steps) - len(notes); more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more like these", more))
	}
	return notes
}
