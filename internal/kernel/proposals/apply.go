package proposals

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/kernel/session"
	"callgate/internal/module/workfile"
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
	at, err := w.Resolve(in.Path, false)
	if err != nil {
		return nil, err
	}
	if filepath.ToSlash(at.Name) != in.Path {
		return nil, tool.Errorf(applyName, tool.Conflict, "a folder on the way to %s is a link now", in.Path)
	}
	if err := put(w, at, f); err != nil {
		return nil, err
	}
	return tool.OK("wrote "+in.Path, map[string]any{"path": in.Path, "deleted": f.Writing.Content == nil})
}

// put gives a file its new content, or takes it away.
func put(w workfile.Workspace, at workfile.Path, f changedFile) error {
	var now []byte
	was := at.Info
	if was != nil {
		var err error
		if now, was, err = w.ReadAll(at, maxOnDisk); err != nil {
			return err
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
		if err := w.Root.Remove(at.Name); err != nil {
			return w.Fail(at.Shown, err)
		}
		return nil
	case was != nil:
		return w.Replace(at, was, write)
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
	full := filepath.Join(f.Workspace, filepath.FromSlash(f.Path))
	return len(set.Changed([]tool.Claim{{Resource: binding.FileResource(full), Mode: tool.X}})) > 0
}
