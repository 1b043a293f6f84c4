package apps

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modules"
	"callgate/internal/kernel/skills"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// floor leaves out what nobody accepted of the app.
func (l *Loaded) floor(consents *consent.Consents) {
	a := l.App
	l.consents = consents
	l.Accepted, l.Pending = consents.Of(a), consents.Change(a).New
	l.Rules = a.Rules.Floor(func(g policy.Grant) bool { return l.Accepted.Has(consent.Grant(a, g)) })
	if a.OfProject() != nil {
		l.Features = append(l.Features, control.FeatureProposals)
	}
	for _, name := range a.Features() {
		if l.Accepted.Has(consent.Feature(a, name)) {
			l.Features = append(l.Features, name)
		}
	}
	if len(l.Calls()) > 0 {
		l.Features = append(l.Features, control.FeatureApps)
	}
	if !slices.Contains(l.Features, app.FeatureAgents) {
		l.Off[app.SpawnModule] = true
	}
}

// shortened is a list in a sentence, the beginning of a long one.
func shortened(lines []string) string {
	const most = 30
	if n := len(lines) - most; n > 0 {
		return strings.Join(lines[:most], "; ") + "; and " + strconv.Itoa(n) + " more"
	}
	return strings.Join(lines, "; ")
}

// Skills returns what finds skills.
func (l *Loader) Skills() *skills.Finder { return l.opt.Skills }

// Place is where the session's skills are looked for.
func (l *Loaded) Place() skills.Place {
	return skills.Place{Workspace: l.Workspace, App: l.App, Accepted: l.Accepted}
}

// SkillFolders are the folders of the session's skills that lie outside of its workspace.
func (l *Loaded) SkillFolders() (folders []string) {
	for _, s := range l.Skills {
		if len(s.Files) == 0 {
			continue // nothing lies beside it
		}
		if rel, err := filepath.Rel(l.Workspace, s.Dir); err != nil || !filepath.IsLocal(rel) {
			folders = append(folders, s.Dir)
		}
	}
	return folders
}

// addSkills adds the skills that a human accepted, and the tools by which they are used.
func (l *Loaded) addSkills(f *skills.Finder) {
	var notes []string
	l.Skills, notes = f.Offered(l.Place())
	if l.App != nil {
		l.warn(notes...)
	}
	if len(l.Skills) > 0 {
		l.Features = append(l.Features, control.FeatureSkills)
	}
	if slices.ContainsFunc(l.Skills, func(s skills.Skill) bool { return s.Machine != nil }) {
		l.Features = append(l.Features, control.FeatureStates)
	}
}

// identify finds the ID by which what agents remember is kept.
func (l *Loaded) identify(consents *consent.Consents) {
	id, place := filepath.Base(l.Workspace), l.Workspace
	project := l.App.OfProject()
	if project != nil {
		id, place = project.ID, consent.Place(project.Path)
	}
	l.id = id
	written := project != nil && project.IDWritten
	owner, own, err := consents.Owner(id, place, written)
	if err == nil && owner == place {
		return
	}
	if written && err == nil {
		project.IDOwner, l.App.IDOwner = owner, owner
		if consents.Of(l.App).Has(consent.SharedID(l.App)) && (own == "" || own == owner || consents.Join(id) == nil) {
			return
		}
	}
	if own == place && err == nil {
		return // what it remembers at this node alone
	}
	l.id = consents.OwnID(id, place)
}

// Revoked returns the error for a session whose user took back, while it was open, what
// they had accepted of its app: what it was given at its start cannot be taken out of it.
func (l *Loaded) Revoked() error {
	if l.App == nil || !l.consents.Revoked(l.App, l.Accepted) {
		return nil
	}
	return tool.Errorf("apps.Revoked", tool.Denied, "the user took back what they had accepted of %s", l.App.Path).
		WithHint("nothing runs in this session any more; begin another, which has only what needs no consent")
}

// given says what an executable tool of an app file is given, and whether it stands in
// a module that the user knows as ours.
func given(t *tool.Tool, file string) string {
	text := executable.Given(t, filepath.Dir(file))
	if text != "" && slices.Contains(modules.Names(), t.ID.Namespace) {
		text += ", in the built-in module " + t.ID.Namespace
	}
	return text
}

// withheld returns why an executable is not run: nobody accepted it. It is asked when
// the tool is called, because another program may be there by then.
func (l *Loaded) withheld(t *tool.Tool) error {
	if err := l.Revoked(); err != nil {
		return err
	}
	text := given(t, l.App.Path)
	return l.Accepted.Check("apps.Load", consent.Program(l.App, app.Program{Text: text}))
}
