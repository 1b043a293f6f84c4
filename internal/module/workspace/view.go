package workspace

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// view is the workspace of one call, with what waits in it.
type view struct {
	ctx     context.Context
	call    tool.Call
	work    workfile.Workspace
	set     *settings
	pending module.PendingFiles
	module  *files
}

func (m *files) view(ctx context.Context, op string, call tool.Call, g tool.Grant) (*view, error) {
	w, err := workfile.New(op, g)
	if err != nil {
		return nil, err
	}
	v := &view{ctx: ctx, call: call, work: w, set: module.SettingsOf(g, defaults), module: m}
	if m.pending == nil {
		return nil, tool.Errorf(op, tool.Unavailable, "this kernel keeps no pending files")
	}
	v.pending = m.pending()
	return v, nil
}

// seen is a file as the tools see it.
type seen struct {
	module.PendingFile
	at    workfile.Path
	disk  []byte // nil: there is none, or the disk does not count
	stale bool   // the disk is no longer what the change was made against
}

// visible refuses a path outside of the folder that the tools see.
func (v *view) visible(name string) error {
	root := v.set.root()
	if root == "." || name == root || strings.HasPrefix(name, root+"/") {
		return nil
	}
	return tool.Errorf(v.work.Op, tool.Denied, "%s is outside of %s, and these tools see no more than that", name, root).
		WithHint("the app file says so: tools.modules.workspace.config.agent_root")
}

// load returns a file as it is with what waits.
func (v *view) load(path string) (s seen, err error) {
	if strings.HasSuffix(path, "/") {
		return s, tool.Errorf(v.work.Op, tool.Invalid, "%q names a directory, not a file", path).
			WithHint("omit the slash at the end")
	}
	if s.at, err = v.work.Resolve(path, true); err != nil {
		return s, err
	}
	name := filepath.ToSlash(s.at.Name)
	if err := v.visible(name); err != nil {
		return s, err
	}
	if s.PendingFile, err = v.pending.Get(v.ctx, v.call, v.work.Dir, name); err != nil {
		return s, err
	}
	isNew := s.Version == 0
	if !isNew && s.Virtual == v.set.SyncToDisk {
		return s, tool.Errorf(v.work.Op, tool.Conflict, "%s is kept from when sync_to_disk was another setting", name).
			WithHint("a human answers it first, or sets that back: callgate proposals list")
	}
	s.Path, s.Virtual = name, !v.set.SyncToDisk
	if s.Virtual {
		return s, nil
	}
	if s.disk, err = v.read(s.at); err != nil {
		return s, err
	}
	if isNew {
		s.Before, s.After = s.disk, s.disk
	}
	s.stale = (s.disk == nil) != (s.Before == nil) || string(s.disk) != string(s.Before)
	return s, nil
}

// read reads a file of the disk; nil: there is none.
func (v *view) read(at workfile.Path) ([]byte, error) {
	if at.Info == nil {
		return nil, nil
	}
	data, _, err := v.work.ReadAll(at, int64(v.set.MaxFile))
	var large *workfile.TooLargeError
	if errors.As(err, &large) {
		return nil, tool.Errorf(v.work.Op, tool.Invalid, "%q has %s, and %s are the most that these tools take",
			at.Shown, amount.Bytes(large.Size), amount.Bytes(large.Max)).
			WithHint("the app file sets that: tools.modules.workspace.constraints.max_file_bytes")
	}
	return data, err
}

// put stores what a file is to be: it waits for a human, or is written at once.
func (v *view) put(s seen, after []byte) (seen, error) {
	if len(after) > v.set.MaxFile {
		return s, tool.Errorf(v.work.Op, tool.Invalid, "the file would have %s, and %s are the most",
			amount.Bytes(int64(len(after))), amount.Bytes(int64(v.set.MaxFile)))
	}
	s.After = after
	var err error
	switch {
	case !v.set.AutoApprove:
		s.PendingFile, err = v.pending.Put(v.ctx, v.call, v.work.Dir, s.PendingFile, v.set.MaxPending)
	case s.Virtual:
		s.PendingFile, err = v.pending.Keep(v.ctx, v.call, v.work.Dir, s.PendingFile, v.set.MaxPending)
	default:
		err = v.write(s)
		if err == nil && s.Version != 0 { // it waited before the app said that nothing does
			s.PendingFile, err = v.pending.Keep(v.ctx, v.call, v.work.Dir, s.PendingFile, v.set.MaxPending)
		}
	}
	return s, err
}

// write puts a file on the disk, if it is as it was read.
func (v *view) write(s seen) error {
	content := func(to io.Writer) error { _, err := to.Write(s.After); return err }
	switch {
	case s.After == nil && s.disk == nil:
		return nil
	case s.After == nil:
		return v.work.Remove(s.at, s.at.Info)
	case s.at.Info == nil:
		return v.work.Create(s.at, content)
	}
	return v.work.Replace(s.at, s.at.Info, content)
}
