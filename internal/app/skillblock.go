package app

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app/node"
)

const maxInclude = 256 << 10 // bytes of a file of agents

// readSkills reads the skills of an app, whose texts are files in its folder.
func readSkills(r *node.Reader, folder string, e node.Entry) []Skill {
	const form = "write each skill as {command: release, description: how a release is made, path: skills/release.md}"
	if e.IsNull() {
		return nil
	}
	var skills []Skill
	for _, in := range r.Items(e, "a list of skills", form) {
		var s Skill
		r.Mapping(levelSkill, in, map[string]node.Read{
			"command":     r.WithoutEnv().TextInto(&s.Command),
			"description": r.Label(&s.Description),
			"path":        func(p node.Entry) { s.Content, s.Path = r.File(p, folder, maxPrompt) },
		})
		s.Command = strings.TrimPrefix(s.Command, "/")
		at := r.Position(in.Below("command"))
		switch {
		case s.Command == "":
			r.Fail(in.At, form, "%s has no command", in.Name())
		case !nameForm.MatchString(s.Command):
			r.Fail(at, "use letters, digits, - and _", "a skill cannot be called %s", node.Quote(s.Command))
		case r.Position(in.Below("path")) == (node.Position{}):
			r.Fail(in.At, form, "%s has no path", in.Name())
		case slices.ContainsFunc(skills, func(o Skill) bool { return o.Command == s.Command }):
			r.Fail(at, "give one of them another command", "there are two skills %s", node.Quote(s.Command))
		default:
			s.Dir = filepath.Dir(s.Path)
			skills = append(skills, s)
		}
	}
	return skills
}
