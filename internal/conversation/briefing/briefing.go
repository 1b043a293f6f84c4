// Package briefing is what the model of a conversation is told beside what is said.
//
// # Law
//
// A conversation keeps the system text that it began with. It stands in the history,
// in the event of the user's words that it was written for, so a kernel that is started
// again sends the same bytes. Every request is the one before it with messages appended,
// until a compaction. What changes meanwhile (the day, the branch, instructions, what is
// remembered) is told in a note before the user's newest words, once; and again after
// a compaction that left it out.
//
// The system text is written anew with the user's next words if the part of it that
// follows from the app, its tools and the model is another one: after a change of the
// app file, of a server's tools or of this program.
package briefing

import (
	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/prompt"
)

// System returns the system text of the next request.
func (p *Prompter) System() string { return p.Current().Text() }

// Current returns the system text that the history has, or else as it would be written
// now.
func (p *Prompter) Current() prompt.Prompt {
	written := p.written()
	if written == nil {
		return prompt.Build(p.Input())
	}
	var made prompt.Prompt
	for _, s := range written {
		made.Sections = append(made.Sections, prompt.Section(s))
	}
	return made
}

// written returns the system text that the history has; nil: none.
func (p *Prompter) written() (sections []history.Section) {
	if log := p.Subject().Log; log != nil {
		log.View(func(s *history.State) { sections = s.System })
	}
	return sections
}

// Notes returns what the model must be told before its next request. With the user's
// event, it gives that the system text if the history has none that holds. No turn begins
// without a file that the app tells its models of; within a turn they are told of that.
func (p *Prompter) Notes(user *history.Event) ([]agent.Note, error) {
	in, err := p.input()
	if err != nil && user != nil {
		return nil, err
	}
	written, known := p.written(), map[string]string(nil)
	switch made := prompt.Build(in); {
	case user != nil && !holds(written, made):
		for _, s := range made.Sections {
			user.System = append(user.System, history.Section(s))
		}
		user.Told = prompt.Told(in)
		known = user.Told
	case written == nil: // a conversation of an earlier version that is resumed
		known = prompt.Told(in)
	}
	var notes []agent.Note
	if text, told := prompt.Changes(in, p.told(known)); text != "" {
		notes = append(notes, agent.Note{Text: text, Told: told})
	}
	if user != nil && p.Directive != "" {
		notes = append(notes, agent.Note{Text: p.Directive})
		p.Directive = ""
	}
	return notes, nil
}

// told returns what the model was told of a subject; known is what a system text tells
// that is not in the history yet.
func (p *Prompter) told(known map[string]string) func(subject string) string {
	return func(subject string) (value string) {
		ok := false
		if log := p.Subject().Log; log != nil {
			log.View(func(s *history.State) { value, ok = s.Told(subject) })
		}
		if !ok {
			value = known[subject]
		}
		return value
	}
}

// holds reports whether a system text says what one would that is made now, but for
// what was found around the conversation.
func holds(written []history.Section, made prompt.Prompt) bool {
	if len(written) < made.Fixed {
		return false
	}
	for i, s := range made.Sections[:made.Fixed] {
		if written[i] != history.Section(s) {
			return false
		}
	}
	if len(written) == made.Fixed {
		return true
	}
	next := written[made.Fixed].Name // nothing fixed may follow that is no longer said
	return next == "environment" || next == "instructions"
}

// Pending returns the note that the model would be told with the user's next words, and
// what is remembered, as a note tells it; "" for none.
func (p *Prompter) Pending() (note, memory string) {
	in := p.Input()
	var known map[string]string
	if p.written() == nil {
		known = prompt.Told(in)
	}
	note, _ = prompt.Changes(in, p.told(known))
	if in.Memory != "" {
		memory = prompt.Memory(in.Memory)
	}
	return note, memory
}

// SystemFor is the system text for a fallback, whose tools stand in the text or do not.
func (p *Prompter) SystemFor(inText bool) string {
	in := p.Input()
	in.Native = !inText
	return prompt.Build(in).Text()
}
