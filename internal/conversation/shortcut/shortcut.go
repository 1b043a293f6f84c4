// Package shortcut reads the words by which a user begins a skill: "/name what to do", or
// "/use_skill name what to do".
//
// # Law
//
// It is the user's words alone that begin a skill so, whatever face they come through:
// what a trigger, a tool or a model says does not. The skill's text is told to the model
// for that one turn, in a note before the words, which stay as they were written. A name
// that no skill has is an error and never reaches the model. Words that begin no skill end
// the one with states that is under way, if that is interruptible. Words that begin a skill
// while a turn runs are for the turn after it: see [Skills.Waits].
package shortcut

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"callgate/internal/kernel/session"
	"callgate/internal/kernel/skillruns"
	"callgate/internal/kernel/skills"
	"callgate/tool"
)

// Words are a shortcut and what follows it.
type Words struct{ Name, Prompt string }

var form = regexp.MustCompile(`^/([A-Za-z][A-Za-z0-9_-]{0,79})(?:\s+|$)`)

// Parse reads the beginning of a message. A path, such as /etc/hosts, is none.
func Parse(text string) (w Words, ok bool) {
	found := form.FindStringSubmatch(text)
	if found == nil {
		return w, false
	}
	return Words{found[1], strings.TrimSpace(text[len(found[0]):])}, true
}

// The shortcuts that are no skill's.
const (
	useSkill  = "use_skill"  // names the skill in its next word
	stopSkill = "skill_stop" // ends the skill with states that is under way
)

// Skills begins skills by a user's words.
type Skills struct {
	Finder *skills.Finder
	Runs   *skillruns.Table
}

// Said takes the user's words of a turn, and returns what its model is told with them; ""
// for nothing.
func (k Skills) Said(ctx context.Context, s *session.Session, text string) (told string, err error) {
	w, ok := Parse(text)
	if !ok {
		return k.goOn(ctx, s)
	}
	if w.Name == stopSkill {
		run, err := k.Runs.Stop(ctx, s.ID())
		if err != nil || run == nil {
			return "No skill with states was under way.", err
		}
		return fmt.Sprintf("The user has stopped the skill %s. Its limits no longer hold.", run.Skill), nil
	}
	w, found, err := k.find(s, w)
	if err != nil {
		return "", err
	}
	return k.begin(ctx, s, found, w)
}

// Waits takes the user's words while a turn runs, and reports whether they are for the turn
// after it, as those that begin a skill are: a turn keeps the way in which it works. The
// word that stops a skill counts at once.
func (k Skills) Waits(ctx context.Context, s *session.Session, text string) (bool, error) {
	w, ok := Parse(text)
	switch {
	case !ok:
		return false, nil
	case w.Name == stopSkill:
		_, err := k.Runs.Stop(ctx, s.ID())
		return false, err
	}
	_, _, err := k.find(s, w)
	return err == nil, err
}

// find finds the skill that words begin.
func (k Skills) find(s *session.Session, w Words) (Words, skills.Skill, error) {
	const op = "shortcut.Said"
	if w.Name == useSkill {
		name, rest, _ := strings.Cut(w.Prompt, " ")
		w = Words{strings.TrimPrefix(name, "/"), strings.TrimSpace(rest)}
	}
	found, err := skills.Choose(s.Loaded().Skills, w.Name)
	switch {
	case tool.KindOf(err) == tool.NotFound:
		err = tool.Errorf(op, tool.NotFound, "%v", err).
			WithHint("to say it as it is, begin with a space; callgate skills list shows what can be accepted")
	case err != nil:
	case found.ForModel:
		err = tool.Errorf(op, tool.Invalid, "the skill %s is for the model to begin", found.Command).
			WithHint("say what is to be done")
	case !k.Finder.Holds(found):
		err = tool.Errorf(op, tool.Denied, "the skill %s is no longer accepted", found.Command).
			WithHint("callgate skills accept %s", found.Command)
	}
	return w, found, err
}

// goOn takes words that begin no skill.
func (k Skills) goOn(ctx context.Context, s *session.Session) (string, error) {
	run, err := k.Runs.Said(ctx, s.ID())
	if err != nil {
		return "", err
	}
	if run != nil {
		return fmt.Sprintf("The user's words ended the skill %s, which was in the state %s. Its limits no longer hold.",
			run.Skill, run.State), nil
	}
	if run = k.Runs.Of(s.ID()); run != nil {
		return run.Tell(), nil
	}
	return "", nil
}

// begin begins a skill.
func (k Skills) begin(ctx context.Context, s *session.Session, found skills.Skill, w Words) (string, error) {
	if _, err := k.Runs.Said(ctx, s.ID()); err != nil {
		return "", err
	}
	if run := k.Runs.Of(s.ID()); run != nil {
		return "", tool.Errorf("shortcut.Said", tool.Conflict, "the skill %s is under way, in the state %s, "+
			"and words do not end it", run.Skill, run.State).WithHint("/%s ends it", stopSkill)
	}
	text := fmt.Sprintf("The user begins the skill %s with these words. Follow it for this message, "+
		"as the way it is done.\n\n# Skill: %s\n%s", found.Command, found.Command, found.Text())
	if found.Machine == nil {
		return text, nil
	}
	state, err := k.Runs.Begin(ctx, s.ID(), "", found.Skill, input(w.Prompt))
	return text + "\n\n" + state, err
}

// input is what a skill with states begins with: the JSON that the user wrote, or the
// words.
func input(prompt string) json.RawMessage {
	if strings.HasPrefix(prompt, "{") && json.Valid([]byte(prompt)) {
		return json.RawMessage(prompt)
	}
	made, _ := json.Marshal(map[string]string{"prompt": prompt}) // a text is always JSON
	return made
}
