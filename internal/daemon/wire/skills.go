package wire

import (
	"maps"
	"slices"

	"callgate/internal/kernel/skills"
	"callgate/internal/protocol"
)

// Skill is a skill that was found.
func Skill(s skills.Skill) protocol.FoundSkill {
	found := protocol.FoundSkill{
		Command: s.Command, Description: s.Description, Source: string(s.Source), State: string(s.State), Path: s.Path,
		Digest: s.Digest, Problem: s.Problem, Notes: s.Notes,
	}
	if s.State == skills.Broken {
		return found
	}
	found.Text = s.Text()
	for _, f := range s.Files {
		found.Files = append(found.Files, f.Name)
	}
	if s.Machine != nil {
		found.States = slices.Sorted(maps.Keys(s.Machine.States))
	}
	return found
}
