package skills

import (
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Choose returns the skill of a name among those that a session has.
func Choose(offered []Skill, name string) (Skill, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "/")
	var known []string
	for _, s := range offered {
		if strings.EqualFold(s.Command, name) {
			return s, nil
		}
		known = append(known, s.Command)
	}
	return Skill{}, Unknown("skills.Choose", name, known)
}

const maxKnown = 30 // names that an error lists

// Unknown returns the error for a skill that is not there, with the names that are.
func Unknown(op, name string, known []string) error {
	e := tool.Errorf(op, tool.NotFound, "there is no skill %q", tool.Truncate(name))
	if len(known) == 0 {
		return e.WithHint("this session has no skills; callgate skills list shows those that can be accepted")
	}
	hint := ""
	if near := nearest.Name(strings.ToLower(name), known); near != "" {
		hint = "did you mean " + near + "? "
	}
	if len(known) > maxKnown {
		known = append(known[:maxKnown:maxKnown], "…")
	}
	return e.WithHint("%sthe skills are %s", hint, strings.Join(known, ", "))
}
