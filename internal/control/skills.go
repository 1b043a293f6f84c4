package control

import (
	"context"
	"encoding/json"
	"fmt"

	"callgate/tool"
)

// Skill is a text that tells how something is done, or a file beside it.
type Skill struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Dir         string `json:"dir,omitempty"` // where files that it names are
	Content     string `json:"content"`
	File        string `json:"file,omitempty"`  // the file that Content is
	Next        int    `json:"next,omitempty"`  // the offset at which the file goes on
	State       string `json:"state,omitempty"` // what is told of the state that it is in
	Note        string `json:"note,omitempty"`
}

// SkillUse is what use_skill is asked for.
type SkillUse struct {
	Command string          `json:"command"`
	File    string          `json:"file"`
	Offset  int             `json:"offset"`
	Input   json.RawMessage `json:"input"`
}

// SkillStep is what skill_step is asked for.
type SkillStep struct {
	On     string          `json:"on"`
	Output json.RawMessage `json:"output"`
}

// The features of the tools about skills: they are shown where there are skills, and where
// one of them has states.
const (
	FeatureSkills = "skills"
	FeatureStates = "skill_states"
)

const skillNote = "Follow this as the way it is done here, for what the user asked."

// SkillTool makes use_skill. use returns a skill of a session, or an error that lists the
// skills that there are.
func SkillTool(use func(context.Context, tool.Call, SkillUse) (Skill, error)) *tool.Tool {
	const text = "Read how something is done here, before you do it: a skill, by its command. " +
		"The skills there are stand in your instructions. With file, read a file beside it."
	const schema = `{"type":"object","properties":{"command":{"type":"string","maxLength":80,` +
		`"description":"the skill's command, such as release"},` +
		`"file":{"type":"string","maxLength":400,"description":"a file that the skill names"},` +
		`"offset":{"type":"integer","minimum":0,"description":"where in the file to begin"},` +
		`"input":{"type":"object","description":"what a skill with states begins with"}},"required":["command"]}`
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		var in SkillUse
		if err := parseArgs(call, &in); err != nil {
			return nil, err
		}
		s, err := use(ctx, call, in)
		if err != nil {
			return nil, err
		}
		return skillResult(s)
	}
	t := define(Namespace, "use_skill", text, schema, run)
	t.Runtime.Feature = FeatureSkills
	return t
}

func skillResult(s Skill) (*tool.Result, error) {
	summary, after := "the skill "+s.Command, ""
	switch {
	case s.File != "":
		summary = "the file " + s.File + " of the skill " + s.Command
		if s.Next > 0 {
			after = fmt.Sprintf("The file goes on: offset %d.", s.Next)
		}
	case s.State != "":
		s.Note = skillNote
		after = s.State
	default:
		s.Note = skillNote
		after = skillNote
		if s.Dir != "" {
			after += " Files that it names are in " + s.Dir + "."
		}
	}
	r, err := tool.OK(summary, s)
	if err != nil {
		return r, err
	}
	r.Content = []tool.Content{tool.Text(s.Content)}
	if after != "" {
		r.Content = append(r.Content, tool.Text(after))
	}
	return r, nil
}

// StepTool makes skill_step, by which a skill with states goes on. step returns what the
// model is told of the state that it is in then.
func StepTool(step func(context.Context, tool.Call, SkillStep) (string, error)) *tool.Tool {
	const text = "Go on in the skill with states that is under way: name what happened, as its state lists it. " +
		"With a step to its end, give the output that it asks for."
	const schema = `{"type":"object","properties":{"on":{"type":"string","maxLength":80,` +
		`"description":"what happened, such as understood"},` +
		`"output":{"type":"object","description":"what the skill gives, with the step to its end"}},"required":["on"]}`
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		var in SkillStep
		if err := parseArgs(call, &in); err != nil {
			return nil, err
		}
		told, err := step(ctx, call, in)
		if err != nil {
			return nil, err
		}
		r, err := tool.OK("the skill goes on: "+tool.TruncateTo(told, 120), map[string]string{"state": told})
		if err == nil {
			r.Content = []tool.Content{tool.Text(told)}
		}
		return r, err
	}
	t := define(Namespace, "skill_step", text, schema, run)
	t.Runtime.Feature = FeatureStates
	return t
}
