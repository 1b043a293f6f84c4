package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/skill"
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
			"path":        func(p node.Entry) { readSkill(r, p, folder, &s) },
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
			if s.Folder == nil {
				s.Dir = filepath.Dir(s.Path)
			}
			skills = append(skills, s)
		}
	}
	return skills
}

// readSkill reads the file of a skill, or its folder with everything in it.
func readSkill(r *node.Reader, e node.Entry, folder string, s *Skill) {
	name, ok := e.Plain()
	local := filepath.FromSlash(name)
	if info, err := os.Stat(filepath.Join(folder, local)); !ok || !filepath.IsLocal(local) || err != nil || !info.IsDir() {
		s.Content, s.Path = r.File(e, folder, maxPrompt)
		return
	}
	found, err := skill.LoadBelow(folder, local)
	if err != nil {
		r.Fail(e.At, "callgate skills check tells more", "the skill %s cannot be read: %v", node.Quote(name), err)
		return
	}
	s.Folder, s.Content, s.Path, s.Dir = found, found.Text(), found.Dir, found.Dir
	s.Description = cmp.Or(s.Description, found.Description)
}
