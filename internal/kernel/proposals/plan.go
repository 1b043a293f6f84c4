package proposals

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/app/inforce"
	"callgate/internal/app/node"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/consent"
	"callgate/internal/proposal"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// plan makes what accepting a proposal would do, from the files as they are. try has its
// rules tried on recorded calls.
func (p *Proposals) plan(ctx context.Context, made proposal.Proposal, try bool) (*proposal.Plan, error) {
	loaded, err := p.opt.Apps.Load(ctx, made.Asker.Workspace, made.Asker.AppFile)
	if err != nil {
		return nil, err
	}
	pl := &planner{Proposals: p, loaded: loaded, try: try, plan: &proposal.Plan{}}
	switch made.Kind {
	case proposal.Tool:
		err = pl.tool(ctx, made.Body)
	case proposal.Skill:
		err = pl.skill(made.Body)
	default:
		err = pl.config(ctx, made.Body)
	}
	return pl.plan, err
}

// planner makes one plan.
type planner struct {
	*Proposals
	loaded *apps.Loaded
	try    bool
	plan   *proposal.Plan
}

const noApp = "callgate init writes an app file; then it can be changed"

// project is the app file that may be changed: the project's own.
func (pl *planner) project() (*app.App, error) {
	project := pl.loaded.App.OfProject()
	if project == nil || pl.loaded.Files.Project == "" {
		return nil, tool.Errorf(op, tool.Unavailable, "this folder has no app file of its own").WithHint(noApp)
	}
	return project, nil
}

// config plans a change of the app file.
func (pl *planner) config(ctx context.Context, body json.RawMessage) error {
	var b proposal.ConfigBody
	if err := proposal.Decode(body, &b); err != nil {
		return err
	}
	edits, err := b.Edits()
	if err != nil {
		return err
	}
	return pl.edit(ctx, edits, true)
}

// edit plans edits of the app file, and what they would allow. consents says that what the
// file asks for then is accepted with it.
func (pl *planner) edit(ctx context.Context, edits []edit.Change, consents bool) error {
	project, err := pl.project()
	if err != nil {
		return err
	}
	before, err := pl.read(filepath.Dir(project.Path), filepath.Base(project.Path), node.MaxBytes)
	if err != nil {
		return err
	}
	if before == nil {
		return tool.Errorf(op, tool.NotFound, "the app file %s is gone", project.Path)
	}
	after, err := edit.Set(before, edits)
	if err != nil {
		return err
	}
	tried, err := pl.opt.Apps.TryText(ctx, pl.loaded, after)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Invalid, Err: err, Message: "the app file could not be read after it"}
	}
	sameOwner(pl.loaded.App, tried)
	pl.add(proposal.File{
		Base: filepath.Dir(project.Path), Name: filepath.Base(project.Path), Before: before, After: after,
		Mode: modeOf(project.Path, 0o644),
	})
	pl.plan.Allows = append(pl.plan.Allows, proposal.Difference(facts(pl.loaded.App), facts(tried))...)
	if consents {
		pl.plan.Consent = pl.opt.Consents.Pending(tried)
	}
	pl.note("sessions that are open keep the rules that they began with")
	for _, s := range tried.Servers {
		if !hasServer(pl.loaded.App, s.Name) {
			pl.note("the MCP server " + s.Name + " starts when you have accepted it: callgate mcp trust " + s.Name)
		}
	}
	if pl.try {
		return pl.tryRules(ctx, tried)
	}
	return nil
}

// sameOwner gives a tried app what only loading it tells: who has its ID.
func sameOwner(is, tried *app.App) {
	a, b := is.OfProject(), tried.OfProject()
	if a != nil && b != nil && a.ID == b.ID {
		b.IDOwner, tried.IDOwner = a.IDOwner, a.IDOwner
	}
}

// tool plans a tool without its executable.
func (pl *planner) tool(ctx context.Context, body json.RawMessage) error {
	var b proposal.ToolBody
	if err := proposal.Decode(body, &b); err != nil {
		return err
	}
	text, err := b.Manifest(func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err })
	if err != nil {
		return err
	}
	project, err := pl.project()
	if err != nil {
		return err
	}
	base, dir := filepath.Dir(project.Path), ""
	for _, d := range project.Dirs {
		if rel, err := filepath.Rel(base, d); err == nil && filepath.IsLocal(rel) {
			dir = filepath.ToSlash(rel)
			break
		}
	}
	if dir == "" && len(project.Dirs) > 0 {
		return tool.Errorf(op, tool.Unavailable, "the app's folders of tools lie outside its own folder").
			WithHint("a human puts the tool there")
	}
	if dir == "" {
		dir = "tools"
		edits := []edit.Change{{Path: []string{"tools", "dirs"}, Value: []any{dir}}}
		if err := pl.edit(ctx, edits, false); err != nil {
			return err
		}
	}
	return pl.toolFiles(base, dir, b, text)
}

// toolFiles plans a manifest, and the place of its executable.
func (pl *planner) toolFiles(base, dir string, b proposal.ToolBody, text []byte) error {
	name := dir + "/agent/" + b.FileName()
	for _, f := range []proposal.File{
		{Base: base, Name: name + ".json", After: text, Mode: 0o644},
		{Base: base, Name: name, After: []byte(proposal.Placeholder), Mode: 0o755},
	} {
		var err error
		if f.Before, err = pl.read(base, f.Name, proposal.MaxBody); err != nil {
			return err
		}
		if f.Before != nil && f.Changes() {
			return tool.Errorf(op, tool.Conflict, "there is a file %s already", f.Name).
				WithHint("propose the tool under another name; a tool that is there is changed by a human")
		}
		pl.add(f)
	}
	pl.note("the tool does nothing until a human writes " + name + " and accepts it with callgate app trust")
	if _, err := os.Stat(filepath.Join(base, filepath.FromSlash(dir), executable.LockName)); err == nil {
		pl.note("there is a " + executable.LockName + ": callgate build records the tool, and until then it is left out")
	}
	pl.plan.Allows = append(pl.plan.Allows, "+ a tool "+b.Name+", once you accept its executable"+reach(b))
	return nil
}

// reach says what the executable of a proposed tool is to have.
func reach(b proposal.ToolBody) string {
	switch {
	case b.Network && b.SideEffect == string(tool.Read), b.Network && b.SideEffect == string(tool.None):
		return ", with the network (public addresses), in a workspace that it cannot write"
	case b.Network:
		return ", with the network (public addresses), in a workspace that it may write"
	case b.SideEffect == string(tool.Read), b.SideEffect == string(tool.None):
		return ", without the network, in a workspace that it cannot write"
	}
	return ", without the network, in a workspace that it may write"
}

// skill plans a skill.
func (pl *planner) skill(body json.RawMessage) error {
	var b proposal.SkillBody
	if err := proposal.Decode(body, &b); err != nil {
		return err
	}
	f := proposal.File{
		Base: pl.loaded.Workspace, Name: ".agents/skills/" + b.Name + "/SKILL.md", After: b.Text(), Mode: 0o644,
	}
	where := "agents in " + inforce.Short(pl.loaded.Workspace)
	if b.Place == proposal.ForUser {
		if pl.opt.UserFile == "" {
			return tool.Errorf(op, tool.Unavailable, "this user has no folder for skills").WithHint("propose it for the project")
		}
		f.Base, f.Name = filepath.Dir(pl.opt.UserFile), "skills/"+b.Name+"/SKILL.md"
		where = "agents of yours, in every folder"
	}
	var err error
	if f.Before, err = pl.read(f.Base, f.Name, proposal.MaxBody); err != nil {
		return err
	}
	pl.add(f)
	pl.note("no agent has it before you accept it as it is then: callgate skills accept " + b.Name)
	pl.plan.Allows = append(pl.plan.Allows, "+ teach "+where+" the skill "+b.Name+"; it gives them no rights")
	return nil
}

// add adds a file to the plan.
func (pl *planner) add(f proposal.File) {
	f.Shown = inforce.Short(filepath.Join(f.Base, filepath.FromSlash(f.Name)))
	pl.plan.Files = append(pl.plan.Files, f)
}

func (pl *planner) note(text string) { pl.plan.Notes = append(pl.plan.Notes, text) }

// read returns the file at a name below a folder, or nil where there is none. One behind a
// link is refused.
func (pl *planner) read(base, name string, most int64) ([]byte, error) {
	data, err := readBelow(base, name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, tool.Errorf(op, tool.Denied, "%s cannot be changed: %w", name, err).
			WithHint("only regular files below %s are, and none behind a link", base)
	}
	return data, nil
}

func modeOf(path string, other fs.FileMode) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return other
}

func hasServer(a *app.App, name string) bool {
	for _, s := range a.Servers {
		if s.Name == name {
			return true
		}
	}
	return false
}

// facts are lines of what an app lets its agents do.
func facts(a *app.App) []string {
	lines := consent.Lines(a)
	project := a.OfProject()
	if project == nil {
		return lines
	}
	for _, line := range project.Rules.Lines() {
		lines = append(lines, "rule: "+line)
	}
	for _, m := range project.Modules {
		lines = append(lines, "have the module "+m.Name)
	}
	for _, dir := range project.Dirs {
		lines = append(lines, "take tools from "+inforce.Short(dir))
	}
	for _, s := range project.Servers {
		lines = append(lines, project.Hide("have the MCP server "+s.Name+": "+
			strings.TrimSpace(s.URL+" "+strings.Join(append([]string{s.Command}, s.Args...), " "))))
	}
	for _, agent := range project.Agents {
		lines = append(lines, "have the agent "+agent.ID)
	}
	for _, h := range project.Runtime.Hooks {
		lines = append(lines, "have the hook "+h.ID+" "+h.String())
	}
	return lines
}
