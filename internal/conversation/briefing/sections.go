package briefing

import (
	"time"

	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/prompt"
	"callgate/internal/conversation/sections"
	"callgate/internal/kernel/consent"
)

// addSections adds the sections of the app's context, as they are now. Files that no human
// accepted are left out.
func (p *Prompter) addSections(in *prompt.Input) error {
	c := p.Subject()
	a := c.Session.App()
	if a == nil || len(a.Runtime.Sections) == 0 {
		return nil
	}
	who, turns := c.Session.Principal(), 0
	if c.Log != nil {
		c.Log.View(func(s *history.State) { turns = s.Turns })
	}
	now := time.Now
	if p.Now != nil {
		now = p.Now
	}
	place := in.Place
	written, err := sections.Write(a.Runtime.Sections, sections.Facts{
		Now: now(), User: who.User, App: who.App, Agent: c.Agent.ID, Mode: c.AppMode.Name, Model: c.Model.Model,
		Conversation: who.Session, Turn: turns + 1,
		Workspace: place.Workspace, System: place.System, Shell: place.Shell, Git: place.Branch,
		Memory: in.Memory, MaxBytes: p.maxFound(), Clean: p.clean,
		Accepted: func(s app.Section) bool {
			line := consent.Section(a, s)
			return line == "" || c.Session.Loaded().Accepted.Has(line)
		},
	})
	in.Sections = nil
	for _, s := range written {
		in.Sections = append(in.Sections, prompt.AppSection(s))
	}
	return err
}

// maxFound is how many bytes a model is told of the files of a project, each time.
func (p *Prompter) maxFound() int {
	window := p.Subject().Model.Window
	if window <= 0 {
		return maxInstructions
	}
	return min(max(window*bytesPerToken/instructionsShare, minInstructions), maxInstructions)
}
