package kernel

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"callgate/internal/control"
	"callgate/internal/document"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/skillruns"
	"callgate/internal/kernel/skills"
	"callgate/tool"
)

// Skills is what the kernel knows of skills: where they are found, and which are under way.
type Skills struct {
	Finder    *skills.Finder
	Runs      *skillruns.Table
	approvals *approval.Queue
	askers    func(approval.Credential) []approval.Requester
	user      string
}

// openSkills opens the skills of a kernel.
func openSkills(k *Kernel, cfg Config, store consent.Store, userFile string) (err error) {
	home := cfg.Home
	if home == "" && cfg.UserFile == "" {
		home, _ = os.UserHomeDir() // without one, none is looked at
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	o := skills.Options{Store: store, Home: home}
	if userFile != "" {
		o.UserDir = filepath.Join(filepath.Dir(userFile), "skills")
	}
	k.Skills = Skills{approvals: k.Approvals, askers: k.askers, user: k.user}
	position := func(session string) int64 {
		c, err := k.Conversations.Get(session)
		if err != nil {
			return 0
		}
		return c.Info().Events
	}
	k.Skills.Runs = skillruns.New(document.Scoped(k.database.Stores().Documents, "skills"), k.Journal, position)
	k.Skills.Finder, err = skills.New(o)
	return err
}

// List returns the skills that a session has, or could have.
func (s *Skills) List(in *session.Session) []skills.Skill { return s.Finder.List(in.Loaded().Place()) }

// Accept takes a human's yes to a skill that a session could have, as it was shown.
func (s *Skills) Accept(
	who approval.Credential, in *session.Session, name skills.Name, digest, by string,
) error {
	if err := s.approvals.HasPersonAuthority(who, s.askers(who)); err != nil {
		return err
	}
	found, err := s.Finder.Find(in.Loaded().Place(), name)
	if err != nil {
		return err
	}
	return s.Finder.Accept(found, digest, cmp.Or(by, s.user))
}

// Revoke takes a human's yes to a skill back.
func (s *Skills) Revoke(who approval.Credential, in *session.Session, name skills.Name, by string) error {
	if err := s.approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	found, err := s.Finder.Find(in.Loaded().Place(), name)
	if err != nil {
		return err
	}
	return s.Finder.Revoke(found, cmp.Or(by, s.user))
}

// useSkill gives a session a skill, a file beside it, or begins one with states.
func useSkill(k *Kernel) func(context.Context, tool.Call, control.SkillUse) (control.Skill, error) {
	const op = "kernel.useSkill"
	return func(ctx context.Context, call tool.Call, in control.SkillUse) (made control.Skill, err error) {
		id := call.Principal.Session
		s, err := k.Sessions.Get(id)
		if err != nil {
			return made, err
		}
		found, err := skills.Choose(s.Loaded().Skills, in.Command)
		switch {
		case err != nil:
			return made, err
		case !k.Skills.Finder.Holds(found):
			return made, tool.Errorf(op, tool.Denied, "the user took back what they had accepted of the skill %s", found.Command)
		}
		made = control.Skill{Command: found.Command, Description: found.Description, Dir: found.Dir, Content: found.Text()}
		if in.File != "" {
			made.File = in.File
			made.Content, made.Next, err = found.ReadFile(in.File, in.Offset)
			return made, err
		}
		if found.ForUser {
			return made, tool.Errorf(op, tool.Denied, "only the user begins the skill %s", found.Command).
				WithHint("tell the user to write /%s", found.Command)
		}
		if found.Machine != nil {
			made.State, err = k.Skills.Runs.Begin(ctx, id, call.ID, found.Skill, in.Input)
		}
		return made, err
	}
}

// stepSkill has the skill that is under way in a session go on.
func stepSkill(k *Kernel) func(context.Context, tool.Call, control.SkillStep) (string, error) {
	return func(ctx context.Context, call tool.Call, in control.SkillStep) (string, error) {
		return k.Skills.Runs.Step(ctx, call.Principal.Session, call.ID, in.On, in.Output)
	}
}
