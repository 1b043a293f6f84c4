package proposals

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/kernel/session"
	"callgate/internal/module/workfile"
	"callgate/internal/nofollow"
	"callgate/internal/proposal"
	"callgate/tool"
)

const (
	applyName = "workspace.apply"
	// scope is where the tool is found: no other caller has it.
	scope = "kernel:workspace"
	// writeSession is the session of all writes: they are a human's, and no client's.
	writeSession = "workspace"

	applyInput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "the file"},
    "proposal": {"type": "string", "description": "that was accepted"},
    "file": {"type": "string", "description": "where its content is kept"},
    "by": {"type": "string", "description": "who accepted it"}
  },
  "required": ["path", "proposal", "file"],
  "additionalProperties": false
}`
)

// applyArgs is the arguments of workspace.apply.
type applyArgs struct {
	Path     string `json:"path"`
	Proposal string `json:"proposal"`
	File     string `json:"file"`
	By       string `json:"by,omitempty"`
}

// applyTool makes workspace.apply.
func (p *Proposals) applyTool() *tool.Tool {
	return &tool.Tool{
		ID: tool.ID{Namespace: "workspace", Name: "apply", Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Name: applyName, Description: "Write a change of a file that a human accepted.", Input: json.RawMessage(applyInput),
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
			Risk:    tool.Medium, SideEffect: tool.Write, Control: true,
		},
		Handler: tool.HandlerFunc(p.applyChange),
	}
}

// callApply has the file written by a call through the gate. Where the gate asks a human
// about a file with rules, the answer is the one that the person has given.
func (p *Proposals) callApply(ctx context.Context, f changedFile) error {
	raw, err := json.Marshal(applyArgs{Path: f.Path, Proposal: f.Proposal, File: f.key(), By: f.Writing.By})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := func(r approval.Request) {
		if r.State != approval.Pending {
			return
		}
		if !onlyFile(r.Claims, f) { // what a person has accepted is the file, not where a link leads
			go cancel()
			return
		}
		go func() {
			v := approval.Voucher{By: f.Writing.By, Session: writeSession}
			if p.opt.Authority.AnswerVouched(ctx, v, r.ID, approval.Answer{Approve: true}) != nil {
				cancel()
			}
		}()
	}
	caller, release, err := p.opt.Caller(session.BareSpec{
		Folder: f.Workspace, Scope: scope, RuleFiles: p.opt.RuleFiles(ctx, f.Workspace), OnAsked: asked,
		Identity: gate.Identity{Principal: tool.Principal{User: p.opt.User, Session: writeSession}},
	})
	if err != nil {
		return err
	}
	defer release()
	return p.opt.Gate.Call(ctx, caller, gate.CallRequest{Name: applyName, Args: raw, Whole: true}).Err()
}

// onlyFile reports whether claims are of a file at its own place, and of nothing else.
func onlyFile(claims []tool.Claim, f changedFile) bool {
	return len(claims) > 0 && !slices.ContainsFunc(claims, func(c tool.Claim) bool { return c.Resource != f.resource() })
}

// resource is the file as the gate names it where no link leads elsewhere.
func (f changedFile) resource() string {
	return binding.FileResource(filepath.Join(f.Workspace, filepath.FromSlash(f.Path)))
}

// applyChange writes a file that is about to be written, if it is as it was when that was accepted.
func (p *Proposals) applyChange(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
	var in applyArgs
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, tool.Errorf(applyName, tool.Invalid, "the arguments cannot be read: %w", err)
	}
	f, err := p.Changes().get(ctx, in.File)
	if err != nil {
		return nil, err
	}
	if f.Writing == nil || f.Proposal != in.Proposal || f.Path != in.Path {
		return nil, tool.Errorf(applyName, tool.Conflict, "nobody has accepted a change of %s", in.Path)
	}
	w, err := workfile.New(applyName, g)
	if err != nil {
		return nil, err
	}
	if _, err := w.Resolve(in.Path, false); err != nil { // it may be closed to tools
		return nil, err
	}
	if err := put(w, f); err != nil {
		return nil, err
	}
	return tool.OK("wrote "+in.Path, map[string]any{"path": in.Path, "deleted": f.Writing.Content == nil})
}

// put gives a file its new content, or takes it away. The folder of the file is opened without
// following a link, and everything happens in it: a link that somebody puts on the way after the
// gate has judged the path leads nowhere.
func put(w workfile.Workspace, f changedFile) error {
	content, folder := f.Writing.Content, path.Dir(f.Path)
	open := nofollow.OpenDir
	if f.Before == nil && content != nil {
		open = nofollow.MakeDir
	}
	dir, err := open(w.Root, folder)
	if err != nil {
		return badFolder(w, f, err)
	}
	defer dir.Close()
	grant := w.Grant
	grant.Root, grant.Workspace = dir, filepath.Join(w.Dir, filepath.FromSlash(folder))
	in, err := workfile.New(applyName, grant)
	if err != nil {
		return err
	}
	if err := putIn(in, f); err != nil {
		return err
	}
	again, err := nofollow.OpenDir(w.Root, folder)
	if err != nil {
		return badFolder(w, f, err)
	}
	defer again.Close()
	was, err := dir.Stat(".")
	now, nowErr := again.Stat(".")
	if err != nil || nowErr != nil || !os.SameFile(was, now) {
		return badFolder(w, f, nofollow.ErrChanged)
	}
	return nil
}

// badFolder says why the folder of a file is not the one that it was.
func badFolder(w workfile.Workspace, f changedFile, err error) error {
	switch {
	case errors.Is(err, nofollow.ErrLink):
		return tool.Errorf(applyName, tool.Conflict, "a folder on the way to %s is a link now", f.Path)
	case errors.Is(err, nofollow.ErrChanged):
		return tool.Errorf(applyName, tool.Conflict, "the folder of %s was replaced meanwhile", f.Path)
	case errors.Is(err, fs.ErrNotExist) && f.Writing.Content == nil:
		return nil // it is gone with its folder
	}
	return w.Fail(f.Path, err)
}

// putIn does that in the folder of the file.
func putIn(w workfile.Workspace, f changedFile) error {
	at := workfile.Path{Shown: f.Path, Name: path.Base(f.Path)}
	info, err := w.Root.Lstat(at.Name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.Fail(f.Path, err)
	}
	var now []byte
	if err == nil {
		at.Info = info
		if now, info, err = w.ReadAll(at, maxOnDisk); err != nil {
			return err
		}
		if !os.SameFile(at.Info, info) {
			return tool.Errorf(applyName, tool.Conflict, "%s is a link now", f.Path)
		}
	}
	content := f.Writing.Content
	write := func(to io.Writer) error { _, err := to.Write(content); return err }
	switch {
	case proposal.Same(now, content):
		return nil
	case !proposal.Same(now, f.Before):
		return tool.Errorf(applyName, tool.Conflict, "%s was changed on the disk a moment ago; it is left as it is", f.Path)
	case content == nil:
		return w.Remove(at, info)
	case at.Info != nil:
		return w.Replace(at, info, write)
	}
	return w.Create(at, write)
}

// maxOnDisk limits a file that is compared with what is kept of it.
const maxOnDisk = 64 << 20

// onDisk reports whether the disk has a content for a file; nil is no file.
func onDisk(f changedFile, content []byte) (bool, error) {
	now, err := readBelow(f.Workspace, f.Path, maxOnDisk)
	if errors.Is(err, fs.ErrNotExist) {
		return content == nil, nil
	}
	if err != nil {
		return false, tool.Errorf(opChange, tool.Denied, "%s cannot be read: %w", f.Path, err)
	}
	return proposal.Same(now, content), nil
}

// rulesIn reports whether a file holds rules of agents.
func (p *Proposals) rulesIn(ctx context.Context, f changedFile) bool {
	set := rulefiles.Set{Workspace: f.Workspace, Files: p.opt.RuleFiles(ctx, f.Workspace)}
	return len(set.Changed([]tool.Claim{{Resource: f.resource(), Mode: tool.X}})) > 0
}
