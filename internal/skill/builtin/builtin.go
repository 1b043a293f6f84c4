// Package builtin holds the skills that ship with Callgate. Law: one is offered to a model
// like every other skill, after a human accepted it, and it gives no rights.
package builtin

import (
	"embed"
	"path"

	"callgate/internal/skill"
)

//go:embed */SKILL.md
var texts embed.FS

// Skills returns the skills that ship, by name.
func Skills() ([]*skill.Skill, error) {
	entries, err := texts.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []*skill.Skill
	for _, e := range entries {
		data, err := texts.ReadFile(path.Join(e.Name(), skill.TextFile))
		if err != nil {
			return nil, err
		}
		s, err := skill.Parse("callgate:"+e.Name()+"/"+skill.TextFile, e.Name(), data)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
