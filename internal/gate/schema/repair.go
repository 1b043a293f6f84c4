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
	maxRounds   = 8   // one for each reading inside another
	maxReadings = 500 // in one value
	maxReported = 20  // readings told one by one
)

// step is one reading that was made: what stood at a place, and the words that
// tell what it was taken for.
type step struct {
	at     []string
	before any
	act    action
	words  string
}

// repairRun is a value on its way to being valid.
type repairRun struct {
	schema  *Schema
	mode    Mode
	fill    bool // whether defaults are filled in as well
	added   int  // how much that was, by weight
	size    int  // bytes of the text it came from
	value   any
	steps   []step
	wrapped map[string]bool    // places where a list of one was made
	kept    map[string]bool    // places where null cannot be taken as absent
	trouble []diagnose.Problem // what is wrong with value as it stands; empty when nothing is
}

// errEndless tells that a schema's defaults call for ever more defaults, or for
// more than a value may hold.
var errEndless = errors.New("the schema's defaults have no end")

// run reads values anew where the validator says that they have the wrong
// type, until the whole is valid or nothing more can be done.
func (m *repairRun) run() error {
	for range maxRounds {
		if len(m.trouble) == 0 || !m.round() {
			break
		}
		if err := m.allowed(); err != nil {
			return err
		}
		m.restoreNulls()
		if m.fill {
			added, ok := m.schema.fillIn(m.value, m.size+m.added*weightBytes)
			if !ok {
				return errEndless
			}
			m.added += added
		}
		if err := m.judge(); err != nil {
			return err
		}
	}
	return nil
}

// allowed reports why the value may not be judged as it stands now.
func (m *repairRun) allowed() error {
	return m.schema.budget.Allows(m.value, m.size+m.added*weightBytes)
}

func (m *repairRun) judge() error {
	if err := m.allowed(); err != nil {
		return err
	}
	m.trouble = diagnose.Validate(m.schema.root, m.value)
	return nil
}

// round tries one reading at each place that is in trouble. It reports
// whether it changed anything. Where more is wrong than may be read, nothing
// is: a value so far from its schema is better sent back, and each reading
// takes its share of time and memory.
func (m *repairRun) round() bool {
	if len(m.steps)+len(m.trouble) > maxReadings {
		return false
	}
	changed := false
	var last []string
	for _, f := range m.trouble {
		if changed && slices.Equal(f.At, last) {
			continue
		}
		before, ok := walk.At(m.value, f.At)
		if !ok {
			continue
		}
		r, ok := m.read(f, before)
		if !ok || !m.apply(r, f.At) {
			continue
		}
		m.steps = append(m.steps, step{f.At, before, r.act, phrase.Subject(m.value, f.At) + ": " + r.words})
		changed, last = true, f.At
	}
	return changed
}

// read finds what to do about a fault: null where nothing need be is nothing,
// and anything else is read by itself.
func (m *repairRun) read(f diagnose.Problem, value any) (candidate, bool) {
	if value == nil && m.mode == Lenient && m.optional(f.At) {
		return candidate{act: drop, words: "null taken as absent"}, true
	}
	return read(f.Kind, value, m.mode)
}

func (m *repairRun) apply(r candidate, at []string) (ok bool) {
	switch {
	case r.act == drop:
		return walk.Remove(m.value, at)
	case r.act == wrap && !m.wrap(at):
		return false
	}
	m.value, ok = walk.Replace(m.value, at, r.value)
	return ok
}

// optional reports whether a place is that of a property which may be left
// out, as far as is known before it is tried. The schema must know the property
// by its name. In a map, where the caller makes the names, an entry that is
// null was put there on purpose.
func (m *repairRun) optional(at []string) bool {
	if len(at) == 0 || m.kept[key(at)] {
		return false
	}
	parent, name := at[:len(at)-1], at[len(at)-1]
	if object, _ := walk.At(m.value, parent); phrase.TypeName(object) != "object" {
		return false
	}
	return slices.ContainsFunc(walk.Locate(m.schema.root, m.value, parent), func(s *jsonschema.Schema) bool { return s.Properties[name] != nil })
}

// restoreNulls returns each null that was taken as absent and is missed now, before
// a default could stand in for it: the property is required after all.
func (m *repairRun) restoreNulls() {
	if !slices.ContainsFunc(m.steps, func(s step) bool { return s.act == drop }) {
		return
	}
	trouble := diagnose.Validate(m.schema.root, m.value)
	m.steps = slices.DeleteFunc(m.steps, func(s step) (undone bool) {
		if s.act != drop || !isMissing(trouble, s.at) {
			return false
		}
		if m.value, undone = walk.Replace(m.value, s.at, nil); undone {
			if m.kept == nil {
				m.kept = map[string]bool{}
			}
			m.kept[key(s.at)] = true
		}
		return undone
	})
}

// isMissing reports whether the absence of a property is part of the trouble.
func isMissing(trouble []diagnose.Problem, at []string) bool {
	parent, name := at[:len(at)-1], at[len(at)-1]
	return slices.ContainsFunc(diagnose.At(trouble, parent), func(f diagnose.Problem) bool {
		_, tooFew := f.Kind.(*kind.MinProperties)
		return tooFew || slices.Contains(f.Missing(), name)
	})
}

// key is a place as the key of a map.
func key(at []string) string { return strings.Join(at, "\x00") }

// wrap notes that a list of one is made at a place. It refuses to make one
// inside another: that much was never meant.
func (m *repairRun) wrap(at []string) bool {
	if n := len(at); n > 0 && at[n-1] == "0" && m.wrapped[key(at[:n-1])] {
		return false
	}
	if m.wrapped == nil {
		m.wrapped = map[string]bool{}
	}
	m.wrapped[key(at)] = true
	return true
}

// unwrap takes back each list of one that did not help, so that what is told
// of its value is told of the value that came.
func (m *repairRun) unwrap() error {
	undone := false
	for _, s := range slices.Backward(m.steps) {
		if s.act == wrap && diagnose.Within(m.trouble, s.at) {
			m.value, _ = walk.Replace(m.value, s.at, s.before)
			undone = true
		}
	}
	if !undone {
		return nil
	}
	return m.judge()
}

// notes returns the sentences that tell what was read as what.
func (m *repairRun) notes() []string {
	var told []string
	for _, s := range m.steps[:min(len(m.steps), maxReported)] {
		told = append(told, s.words)
	}
	if more := len(m.steps) - len(told); more > 0 {
		told = append(told, fmt.Sprintf("and %d more like these", more))
	}
	return told
}
