package apps

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

// Change is one thing that app files say otherwise than before.
type Change struct {
	Part  string // rules, tools, servers, apis, agents, modules, skills, profiles, or runtime
	Text  string
	Wider bool // more runs, or runs unasked
}

// Named is the app file that was named for the app; empty: it is searched.
func (l *Loaded) Named() string {
	switch {
	case !l.Files.Named:
		return ""
	case l.Files.Project == "":
		return l.Files.User
	}
	return l.Files.Project
}

// Reread reads the app files of a workspace once more, as the next session would, and makes nothing of them known.
// What only the folders and tools would tell that they add is told when they are loaded. Nil: there are none.
func (l *Loader) Reread(ctx context.Context, old *Loaded) (*app.App, error) {
	files, err := inforce.Find(old.Workspace, old.Named(), l.opt.UserFile)
	if err != nil || files.None() {
		return nil, err
	}
	a, err := l.readAgain(ctx, old, files)
	if err != nil {
		return nil, err
	}
	if err := l.sift(ctx, a); err != nil {
		return nil, err
	}
	if err := l.learn(ctx, a, old.Scope); err != nil {
		return nil, err
	}
	return a, l.lookInto(ctx, a, scopeOf(files, old.Workspace))
}

// readAgain reads the files in force of a place. Nil: there are none.
func (l *Loader) readAgain(ctx context.Context, old *Loaded, files inforce.Files) (*app.App, error) {
	if files.None() {
		return nil, nil
	}
	known, err := l.known(ctx, old.Scope)
	if err != nil {
		return nil, err
	}
	a, err := loadFiles(l, files, old.Workspace, known, true)
	if err != nil {
		return nil, err
	}
	if was := old.App; len(a.Dirs) == 0 && !a.LLM.HasTools() || was != nil && slices.Equal(was.Dirs, a.Dirs) {
		addModules(known, a)
		if a, err = loadFiles(l, files, old.Workspace, known, false); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Unaccepted is what an app asks for that nobody has accepted, and that was not waiting for consent before.
func (l *Loader) Unaccepted(old *Loaded, now *app.App) []string {
	return slices.DeleteFunc(l.opt.Consents.Change(now).New, func(line string) bool {
		return slices.Contains(old.Pending, line)
	})
}

// Compare says what app files say otherwise than when an app was loaded.
func (l *Loader) Compare(ctx context.Context, old *Loaded, now *app.App) ([]Change, error) {
	before, after := old.App, now
	if before == nil {
		before = &app.App{}
	}
	if after == nil {
		after = &app.App{}
	}
	all := slices.Concat(
		compareNames("rules", lines(before), lines(after)),
		compareItems("servers", before.Servers, after.Servers, func(s app.Server) string { return s.Name }),
		compareItems("apis", before.APIs, after.APIs, func(a app.API) string { return a.Name }),
		compareItems("agents", before.Agents, after.Agents, func(a app.Agent) string { return a.ID }),
		compareItems("modules", before.Modules, after.Modules, func(m app.Module) string { return m.Name }),
		compareItems("skills", before.Skills, after.Skills, func(s app.Skill) string { return s.Command }),
		compareItems("profiles", before.Profiles, after.Profiles, func(p app.Profile) string { return p.Name }),
		compareFields("runtime", reflect.ValueOf(before.Runtime), reflect.ValueOf(after.Runtime)),
	)
	snap, err := l.opt.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	was, is := verdicts(before, turnedOff(old.App)), verdicts(after, turnedOff(now))
	for t := range snap.View(old.Scope).All() {
		if a, b := was(t), is(t); a != b && !t.Runtime.Control {
			text := fmt.Sprintf("%s: %s, was %s", t.ID.Dotted(), b, a)
			all = append(all, Change{Part: "tools", Text: text, Wider: rights(b) > rights(a)})
		}
	}
	return all, nil
}

// lines are the rules of an app, of both files.
func lines(a *app.App) []string {
	if a.Parts == nil {
		return a.Rules.Lines()
	}
	var all []string
	for _, part := range []*app.App{a.Parts.Project, a.Parts.User} {
		if part != nil {
			all = append(all, part.Rules.Lines()...)
		}
	}
	return all
}

// verdicts say what becomes of tools, as far as no arguments are looked at.
func verdicts(a *app.App, off map[string]bool) func(*tool.Tool) policy.Verdict {
	return func(t *tool.Tool) policy.Verdict {
		if off[t.ID.Namespace] {
			return policy.Hide
		}
		return policy.Decide(a.Rules, t, tool.Principal{}).Verdict
	}
}

// rights orders verdicts by how much they let run.
func rights(v policy.Verdict) int {
	return slices.Index([]policy.Verdict{policy.Hide, policy.Deny, policy.Approve, policy.Allow}, v)
}

func compareNames(part string, before, after []string) (all []Change) {
	for _, one := range before {
		if !slices.Contains(after, one) {
			all = append(all, Change{Part: part, Text: "without " + one})
		}
	}
	for _, one := range after {
		if !slices.Contains(before, one) {
			all = append(all, Change{Part: part, Text: "new: " + one})
		}
	}
	return all
}

func compareItems[T any](part string, before, after []T, name func(T) string) []Change {
	names := func(list []T) (all []string) {
		for _, one := range list {
			all = append(all, name(one))
		}
		return all
	}
	all := compareNames(part, names(before), names(after))
	for _, one := range after {
		i := slices.IndexFunc(before, func(old T) bool { return name(old) == name(one) })
		if i >= 0 && !reflect.DeepEqual(before[i], one) {
			all = append(all, Change{Part: part, Text: "changed: " + name(one)})
		}
	}
	return all
}

// compareFields names the fields that differ, with their values where these are a word or a number.
func compareFields(part string, before, after reflect.Value) (all []Change) {
	for i := range before.NumField() {
		field, a, b := before.Type().Field(i), before.Field(i), after.Field(i)
		if !field.IsExported() || reflect.DeepEqual(a.Interface(), b.Interface()) {
			continue
		}
		text := part + "." + field.Name
		if field.Anonymous {
			text = part
		}
		switch a.Kind() {
		case reflect.Struct:
			all = append(all, compareFields(text, a, b)...)
			continue
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			text = fmt.Sprintf("%s: %v, was %v", text, b.Interface(), a.Interface())
		default:
			text += " changed"
		}
		all = append(all, Change{Part: "runtime", Text: text})
	}
	return all
}

// maxKnown bounds the places that are remembered.
const maxKnown = 200

// know remembers where an app was loaded, also one whose files have a mistake.
func know(l *Loader, loaded *Loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := loaded.Workspace + "\n" + loaded.Named()
	if loaded.Files.None() || l.places[key] == nil && len(l.places) >= maxKnown {
		return
	}
	l.places[key] = &Loaded{Workspace: loaded.Workspace, Files: loaded.Files}
}

// Known are the places where apps were loaded, as far as their folders are still there.
func (l *Loader) Known() (all []*Loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(l.places)) {
		if _, err := os.Stat(l.places[key].Workspace); err == nil {
			all = append(all, l.places[key])
		}
	}
	return all
}

// UserFile is where the user's own app file is, or would be; "": nowhere.
func (l *Loader) UserFile() string { return l.opt.UserFile }

// Place is a workspace with the app files that are in force there, which are not read.
func (l *Loader) Place(workspace, file string) (*Loaded, error) {
	workspace, err := canonical(workspace)
	if err != nil {
		return nil, err
	}
	files, err := inforce.Find(workspace, file, l.opt.UserFile)
	return &Loaded{Workspace: workspace, Files: files}, err
}
