package proposals

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/document"
	"callgate/internal/module"
	"callgate/internal/proposal"
	"callgate/internal/task"
	"callgate/tool"
)

// Changes keeps files of workspaces that an agent has changed and no human has approved, for
// the module workspace. Each of them is a proposal.
//
// # Law
//
//   - A change is kept against what was approved last. Nothing of it is on the disk before a
//     person accepts it, and what is refused never is.
//   - A file that somebody changed on the disk meanwhile is not written: its change cannot
//     be accepted, and it says why.
//   - What is about to be written is noted first. A kernel that was killed in between finds
//     the file written or not, and never half: the next one finishes or forgets it.
//   - Accepting is a call through the gate, of a tool that nobody else has, under the file's
//     lock; so it is on record, and can be undone as any call.
//   - While a file is being written, and after it was answered, who read it before must read
//     it again.
type Changes struct{ p *Proposals }

var _ module.PendingFiles = Changes{}

// Changes returns the files that wait.
func (p *Proposals) Changes() Changes { return Changes{p} }

// changedFile is a file as it is kept.
type changedFile struct {
	Workspace string   `json:"workspace"`
	App       string   `json:"app,omitempty"`
	AppFile   string   `json:"app_file,omitempty"` // of who changed it first
	Path      string   `json:"path"`
	Before    []byte   `json:"before"` // null: there is none
	After     []byte   `json:"after"`
	Virtual   bool     `json:"virtual,omitempty"`
	Proposal  string   `json:"proposal,omitempty"`
	Writing   *writing `json:"writing,omitempty"` // nil: nobody does

	version int64
}

// writing is what a human accepted and the disk is about to have.
type writing struct {
	Run      string   `json:"run"` // the process that does
	Content  []byte   `json:"content"`
	By       string   `json:"by"`
	Feedback string   `json:"feedback,omitempty"`
	Hunks    []string `json:"hunks,omitempty"` // none: all
}

const (
	changes  = "pending_files"
	opChange = "workspace.Change"
)

func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func changeKeys(call tool.Call, workspace string) string {
	return hashed(workspace, call.Principal.App) + "/"
}

func (f changedFile) key() string { return hashed(f.Workspace, f.App) + "/" + hashed(f.Path) }

func (f changedFile) pending() module.PendingFile {
	return module.PendingFile{
		Path: f.Path, Before: f.Before, After: f.After, Virtual: f.Virtual, Proposal: f.Proposal, Version: f.version,
	}
}

// change is what a write of the store does for a file; one without a proposal that is on the
// disk, or that is gone, need not be kept.
func (f changedFile) change() (document.Change, error) {
	c := document.Change{Collection: changes, Key: f.key(), If: f.version}
	if f.Proposal == "" && (!f.Virtual || f.Before == nil) {
		return c, nil
	}
	var err error
	c.Data, err = json.Marshal(f)
	return c, err
}

func (c Changes) get(ctx context.Context, key string) (f changedFile, err error) {
	d, err := c.p.opt.Documents.Get(ctx, changes, key)
	if tool.KindOf(err) == tool.NotFound {
		return f, nil
	}
	if err == nil {
		f, err = decodeChange(d)
	}
	return f, err
}

func decodeChange(d document.Document) (f changedFile, err error) {
	if err := json.Unmarshal(d.Data, &f); err != nil {
		return f, &tool.Error{Op: opChange, Kind: tool.Internal, Message: "a pending file cannot be read", Err: err}
	}
	f.version = d.Version
	return f, nil
}

// Get returns the file at a path.
func (c Changes) Get(ctx context.Context, call tool.Call, workspace, path string) (module.PendingFile, error) {
	f, err := c.get(ctx, changeKeys(call, workspace)+hashed(path))
	return f.pending(), err
}

// List returns the files of the app and the workspace of a call.
func (c Changes) List(ctx context.Context, call tool.Call, workspace string) ([]module.PendingFile, error) {
	all, err := c.list(ctx, changeKeys(call, workspace))
	found := make([]module.PendingFile, len(all))
	for i, f := range all {
		found[i] = f.pending()
	}
	return found, err
}

func (c Changes) list(ctx context.Context, prefix string) (all []changedFile, err error) {
	for after := ""; ; {
		page, err := c.p.opt.Documents.List(ctx, changes, prefix, after, document.MaxList)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			f, err := decodeChange(d)
			if err != nil {
				return nil, err
			}
			all, after = append(all, f), d.Key
		}
		if len(page) < document.MaxList {
			break
		}
	}
	slices.SortFunc(all, func(a, b changedFile) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// Put stores a change, and has it wait for a human.
func (c Changes) Put(
	ctx context.Context, call tool.Call, workspace string, f module.PendingFile, most int,
) (module.PendingFile, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	is, err := c.current(ctx, call, workspace, f, most)
	if err != nil {
		return f, err
	}
	is.Before, is.After, is.Virtual = f.Before, f.After, f.Virtual
	same := proposal.Same(f.Before, f.After)
	switch {
	case same && is.Proposal == "":
		return is.pending(), nil
	case same:
		return c.end(ctx, call, is, false)
	case is.Proposal == "":
		return c.begin(ctx, call, is)
	}
	return c.goOn(ctx, call, is)
}

// Keep stores a file that needs no human's word: a virtual one, or that one was written.
func (c Changes) Keep(
	ctx context.Context, call tool.Call, workspace string, f module.PendingFile, most int,
) (module.PendingFile, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	is, err := c.current(ctx, call, workspace, f, most)
	if err != nil {
		return f, err
	}
	is.Before, is.After, is.Virtual = f.After, f.After, f.Virtual
	if is.Proposal != "" { // from when it had to wait
		return c.end(ctx, call, is, true)
	}
	err = c.write(ctx, &is)
	return is.pending(), err
}

// current returns the file that is stored, if it is the one that was read and there is room.
func (c Changes) current(
	ctx context.Context, call tool.Call, workspace string, f module.PendingFile, most int,
) (is changedFile, err error) {
	for _, text := range [][]byte{f.Before, f.After} {
		if c.p.opt.Scrub(string(text)) != string(text) {
			return is, tool.Errorf(opChange, tool.Denied, "%s holds the value of a secret, which is not kept", f.Path).
				WithHint("name a secret by reference; a human writes files that hold one")
		}
	}
	all, err := c.list(ctx, changeKeys(call, workspace))
	if err != nil {
		return is, err
	}
	is = changedFile{Workspace: workspace, App: call.Principal.App, Path: f.Path}
	if asker, _, err := c.p.opt.Asker(call); err == nil { // else nobody is told of it, and it is kept all the same
		is.AppFile = asker.AppFile
	}
	if i := slices.IndexFunc(all, func(o changedFile) bool { return o.Path == f.Path }); i >= 0 {
		is = all[i]
	} else if len(all) >= most {
		const full = "%d files are pending already, and %d are the most"
		return is, tool.Errorf(opChange, tool.Unavailable, full, len(all), most).
			WithHint("wait until a human has answered some: callgate proposals list")
	}
	if is.Writing != nil || is.version != f.Version {
		return is, tool.Errorf(opChange, tool.Conflict, "%s was answered or changed by somebody else meanwhile", f.Path).
			WithHint("read it again with workspace.read, and repeat the change")
	}
	return is, nil
}

// write stores a file, with changes that are made at once with it.
func (c Changes) write(ctx context.Context, f *changedFile, more ...document.Change) error {
	change, err := f.change()
	if err != nil {
		return err
	}
	if change.Data == nil && f.version == 0 { // it is not there and need not be
		if len(more) == 0 {
			return nil
		}
	} else {
		more = append(more, change)
	}
	version, err := c.p.opt.Documents.Write(ctx, more...)
	if f.version = version; change.Data == nil {
		f.version = 0
	}
	return err
}

// begin makes a proposal of a change.
func (c Changes) begin(ctx context.Context, call tool.Call, f changedFile) (module.PendingFile, error) {
	asker, conversation, err := c.p.opt.Asker(call)
	if err != nil {
		return f.pending(), err
	}
	all, err := c.p.list(ctx)
	if err != nil {
		return f.pending(), err
	}
	if err := c.p.forgetOldest(ctx, all); err != nil {
		return f.pending(), err
	}
	f.Proposal = proposal.ID(call.ID)
	body, err := json.Marshal(proposal.ChangeBody{Key: f.key(), Path: f.Path})
	if err != nil {
		return f.pending(), err
	}
	made := proposal.Proposal{
		ID: f.Proposal, Kind: proposal.Change, Title: tool.TruncateTo(f.Path, 200), Reason: "a change of a file",
		Body: body, Asker: asker, Conversation: conversation, Made: c.p.opt.Now().UTC(), State: proposal.Pending,
	}
	change, err := proposalChange(made, 0)
	if err == nil {
		err = c.write(ctx, &f, change)
	}
	if err != nil {
		return f.pending(), err
	}
	who := cmp.Or(asker.Principal.Agent, asker.Principal.App, "a client")
	return f.pending(), c.p.record(fmt.Sprintf("%s proposed %s %s (%s)", who, made.Kind, made.Title, made.ID))
}

// goOn changes what waits. All who wrote in it count as its askers.
func (c Changes) goOn(ctx context.Context, call tool.Call, f changedFile) (module.PendingFile, error) {
	s, body, err := c.proposalOf(ctx, f)
	if err != nil {
		return f.pending(), err
	}
	asker, conversation, err := c.p.opt.Asker(call)
	if err != nil {
		return f.pending(), err
	}
	known := func(o task.Asker) bool { return sameAsker(o, s.Asker) }
	if !known(asker) && !slices.ContainsFunc(body.Askers, known) {
		if len(body.Askers) >= maxAskers {
			return f.pending(), tool.Errorf(opChange, tool.Unavailable,
				"%d clients have changed %s already, and nobody has answered", maxAskers, f.Path).
				WithHint("wait until a human has: callgate proposals list")
		}
		body.Askers = append(body.Askers, s.Asker)
	}
	s.Asker, s.Conversation = asker, conversation
	change, err := s.withBody(body)
	if err == nil {
		err = c.write(ctx, &f, change)
	}
	return f.pending(), err
}

const maxAskers = 20

func sameAsker(a, b task.Asker) bool {
	return a.PID == b.PID && a.Started == b.Started && a.Token == b.Token && a.Human == b.Human
}

// end ends a proposal that nobody need answer any more: the app file approves changes now, and it
// was written, or its asker took the change back.
func (c Changes) end(ctx context.Context, call tool.Call, f changedFile, written bool) (module.PendingFile, error) {
	s, body, err := c.proposalOf(ctx, f)
	if err != nil {
		return f.pending(), err
	}
	by := cmp.Or(call.Principal.Agent, call.Principal.App, "its client")
	done := by + " took the rest of the change back"
	if written {
		body.Written, done = true, "accepted by the app file (auto_approve): "+f.Path
	}
	s.State = endState(body, proposal.Refused)
	s.Answer = &proposal.Answer{By: by, At: c.p.opt.Now().UTC(), Done: append(body.Parts, done)}
	f.Proposal = ""
	change, err := s.withBody(body)
	if err == nil {
		err = c.write(ctx, &f, change)
	}
	return f.pending(), err
}

// endState is how a change has ended: one of which a part was accepted was not refused.
func endState(body proposal.ChangeBody, state proposal.State) proposal.State {
	if body.Written {
		return proposal.Accepted
	}
	return state
}

// proposalOf returns the proposal of a file.
func (c Changes) proposalOf(ctx context.Context, f changedFile) (s stored, body proposal.ChangeBody, err error) {
	if s, err = c.p.get(ctx, f.Proposal); err == nil {
		err = proposal.Decode(s.Body, &body)
	}
	return s, body, err
}
