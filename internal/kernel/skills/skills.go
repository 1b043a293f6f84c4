// Package skills finds the skills of a session, and holds a human's word on each.
//
// # Laws
//
//   - Skills come from the user's folder (if the app has allow_user_skills), from the app,
//     from the folders of the project and of the user's home in which other agents keep
//     theirs, and from Callgate itself. The first of a name is used, in this order.
//   - A model reads none before a human accepted it: an app's with the app, every other
//     one by itself. The yes is for the whole folder as it was, by its digest, so a
//     changed folder asks again.
//   - A project's folder is a stranger's: no link in it is followed, and what cannot be
//     read is a problem that is listed, never a reason to end a session.
package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/internal/skill"
	"callgate/internal/skill/builtin"
	"callgate/internal/visible"
	"callgate/tool"
)

// Source is where a skill comes from.
type Source string

// The sources, in the order in which they count.
const (
	User     Source = "user"     // the folder skills beside the user's app file
	App      Source = "app"      // dev.skills of an app file
	Project  Source = "project"  // .claude/skills and .agents/skills of the project
	Home     Source = "home"     // those of the user's home
	Callgate Source = "callgate" // it ships
)

// State is what became of a skill.
type State string

// The states.
const (
	Accepted State = "accepted" // a human accepted it as it is
	Changed  State = "changed"  // a human accepted it as it was
	Unseen   State = "new"      // nobody has accepted it
	Broken   State = "broken"   // it cannot be read
	Off      State = "off"      // the app does not take skills of the user
	Shadowed State = "shadowed" // another one of its name is used
)

// Skill is a skill that was found.
type Skill struct {
	*skill.Skill
	Command string // by which it is used
	Source  Source
	State   State
	Line    string // what a human accepts; "": it needs no word of its own
	Problem string // why it cannot be used; "": it can
}

// places are the folders in which other agents keep skills.
func places() []string {
	return []string{filepath.Join(".claude", "skills"), filepath.Join(".agents", "skills")}
}

// Options is what a Finder needs.
type Options struct {
	Store   consent.Store
	UserDir string // the user's own folder; "": none
	Home    string // the user's home; "": none
}

// Finder finds skills. Make one with New.
type Finder struct {
	opt     Options
	builtin []*skill.Skill
}

// New makes a finder.
func New(o Options) (*Finder, error) {
	shipped, err := builtin.Skills()
	return &Finder{o, shipped}, err
}

// Place is where a session works.
type Place struct {
	Workspace string
	App       *app.App // nil: none
	Accepted  consent.Accepted
}

// Offered returns the skills that a session has: those that a human accepted, each name
// once. notes say which are not used because another one has their name.
func (f *Finder) Offered(at Place) (offered []Skill, notes []string) {
	used := map[string]Skill{}
	for _, s := range f.find(at, false) {
		if s.State != Accepted {
			continue
		}
		key := strings.ToLower(s.Command)
		if other, ok := used[key]; ok {
			notes = append(notes, fmt.Sprintf("the skill %s of %s is not used, because that of %s has the same name",
				s.Command, s.Path, other.Path))
			continue
		}
		used[key] = s
		offered = append(offered, s)
	}
	return offered, notes
}

// List returns all skills there are, in the order in which they count.
func (f *Finder) List(at Place) []Skill {
	all := f.find(at, true)
	used := map[string]bool{}
	for i, s := range all {
		key := strings.ToLower(s.Command)
		switch {
		case s.State == Accepted && used[key]:
			all[i].State = Shadowed
		case s.State == Accepted:
			used[key] = true
		}
	}
	return all
}

// find returns the skills of all sources. Those that nobody has ever accepted are read if
// all is true.
func (f *Finder) find(at Place, all bool) (found []Skill) {
	if allowed := at.App == nil || at.App.UserSkills; all || allowed {
		for _, s := range f.in(f.opt.UserDir, User, all) {
			if !allowed && s.State != Broken {
				s.State = Off
			}
			found = append(found, s)
		}
	}
	found = append(found, ofApp(at)...)
	folders, _ := app.Folders(at.Workspace)
	for _, folder := range folders {
		if folder == f.opt.Home { // it comes by itself
			continue
		}
		for _, place := range places() {
			if dir, ok := inside(folder, place); ok {
				found = append(found, f.in(dir, Project, all)...)
			}
		}
	}
	if f.opt.Home != "" {
		for _, place := range places() {
			found = append(found, f.in(filepath.Join(f.opt.Home, place), Home, all)...)
		}
	}
	for _, s := range f.builtin {
		found = append(found, f.judge(s, Callgate))
	}
	return found
}

// inside returns a folder of a project, if no link leads to it.
func inside(folder, place string) (string, bool) {
	dir := filepath.Join(folder, place)
	for at := dir; at != folder; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return "", false
		}
	}
	return dir, true
}

// ofApp returns the skills that an app brings.
func ofApp(at Place) (found []Skill) {
	if at.App == nil {
		return nil
	}
	for _, s := range at.App.Skills {
		one := Skill{Skill: s.Whole(), Command: s.Command, Source: App, State: Unseen}
		if at.Accepted.Has(consent.Skill(at.App, s)) {
			one.State = Accepted
		}
		found = append(found, one)
	}
	return found
}

// in returns the skills of a folder of folders, by name.
func (f *Finder) in(dir string, from Source, all bool) (found []Skill) {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && all {
		return []Skill{broken(dir, from, err)}
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() && from == Project {
			if e.Type()&fs.ModeSymlink != 0 && all {
				found = append(found, broken(at, from, errors.New("it is a link, and those of a project are not followed")))
			}
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err == nil && from != Project {
			at = real
		}
		if !isSkill(at) || !all && len(f.accepted(at)) == 0 {
			continue
		}
		s, err := skill.Load(at)
		if err != nil {
			found = append(found, broken(at, from, err))
			continue
		}
		found = append(found, f.judge(s, from))
	}
	return found
}

func isSkill(dir string) bool {
	return slices.ContainsFunc([]string{skill.TextFile, skill.SpecFile}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func broken(dir string, from Source, err error) Skill {
	name := filepath.Base(dir)
	return Skill{
		Skill: &skill.Skill{Name: name, Path: dir, Dir: dir}, Command: name, Source: from, State: Broken,
		Problem: visible.Text(err.Error()),
	}
}

// judge says whether a human accepted a skill.
func (f *Finder) judge(s *skill.Skill, from Source) Skill {
	found := Skill{Skill: s, Command: s.Name, Source: from, State: Unseen, Line: line(s)}
	switch lines := f.accepted(place(s)); {
	case slices.Contains(lines, found.Line):
		found.State = Accepted
	case len(lines) > 0:
		found.State = Changed
	}
	return found
}

// line is what a human accepts.
func line(s *skill.Skill) string {
	return "teach agents the skill " + s.Name + " from " + visible.Text(place(s)) + " (sha256 " + s.Digest[:40] + ")"
}

// place is by which a skill is known to the store.
func place(s *skill.Skill) string {
	if s.Dir != "" {
		return s.Dir
	}
	return s.Path
}

func (f *Finder) accepted(place string) []string {
	lines, err := f.opt.Store.AcceptedLines(key(place))
	if err != nil {
		return nil // what cannot be read counts as not accepted
	}
	return lines
}

func key(place string) string {
	sum := sha256.Sum256([]byte(place))
	return "skill-" + hex.EncodeToString(sum[:16])
}

// Holds reports whether a skill that a session was given is still accepted.
func (f *Finder) Holds(s Skill) bool {
	return s.Source == App || slices.Contains(f.accepted(place(s.Skill)), s.Line)
}

// Name names a skill.
type Name struct {
	Command string
	Source  Source // where several have the name; "": the first
}

// Find returns a skill that is listed.
func (f *Finder) Find(at Place, name Name) (Skill, error) {
	const op = "skills.Find"
	var known []string
	for _, s := range f.List(at) {
		if strings.EqualFold(s.Command, strings.TrimPrefix(name.Command, "/")) &&
			(name.Source == "" || name.Source == s.Source) {
			return s, nil
		}
		known = append(known, s.Command)
	}
	return Skill{}, Unknown(op, name.Command, known)
}

// Accept takes a human's yes to a skill as it was shown, by its digest.
func (f *Finder) Accept(s Skill, digest, by string) error {
	const op = "skills.Accept"
	switch {
	case s.State == Broken:
		return tool.Errorf(op, tool.Invalid, "the skill %s cannot be read: %s", s.Command, s.Problem)
	case s.Source == App:
		return tool.Errorf(op, tool.Invalid, "the skill %s is the app's, and is accepted with it", s.Command).
			WithHint("callgate app trust")
	case digest != s.Digest:
		return tool.Errorf(op, tool.Conflict, "the skill %s is another one than was shown", s.Command).
			WithHint("look at it again")
	}
	return f.opt.Store.AcceptLines(key(place(s.Skill)), []string{s.Line}, by)
}

// Revoke takes a human's yes back.
func (f *Finder) Revoke(s Skill, by string) error {
	if s.Source == App {
		return tool.Errorf("skills.Revoke", tool.Invalid, "the skill %s is the app's, and is revoked with it", s.Command).
			WithHint("callgate app trust --revoke")
	}
	return f.opt.Store.AcceptLines(key(place(s.Skill)), nil, by)
}
