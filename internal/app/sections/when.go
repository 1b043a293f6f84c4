package sections

import (
	"regexp"
	"strings"

	"callgate/internal/condition"
)

// When says in which turns a section is told: while a path has a value that is not
// empty, or while a comparison holds.
type When struct {
	source  string
	path    *condition.Template // of one place; nil: it is a comparison
	negated bool
	holds   *condition.Condition
}

var onlyPath = regexp.MustCompile(`^(not\s+|!\s*)?([a-z_]+(?:\.[a-z_]+)+)$`)

// CompileWhen reads a condition: a path (place.git), its opposite (not place.git), or a
// comparison (session.mode == plan).
func CompileWhen(text string) (*When, error) {
	text = strings.TrimSpace(text)
	w := &When{source: text}
	var err error
	if m := onlyPath.FindStringSubmatch(text); m != nil {
		w.negated = m[1] != ""
		w.path, err = condition.CompileText("{{"+m[2]+"}}", Env())
	} else {
		w.holds, err = condition.Compile(text, Env())
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// String returns the condition as it was written.
func (w *When) String() string { return w.source }

// Holds decides the condition for the values of the roots.
func (w *When) Holds(values map[string]any) (bool, error) {
	if w == nil {
		return true, nil
	}
	if w.holds != nil {
		return w.holds.Eval(values)
	}
	text, err := w.path.Text(values)
	if err != nil {
		return false, err
	}
	empty := text == "" || text == "0" || text == "false" || text == "null"
	return empty == w.negated, nil
}
