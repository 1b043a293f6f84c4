// Package filestate tells whether the files that a call claims are as they were.
// Law: a call can be compared only if everything it claims is a plain file or
// absent; a folder, a socket, a server or a database cannot be, since what lies in
// them may change without a trace in their own times. What the call itself wrote
// is a change like any other.
package filestate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/fileid"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// maxFiles is the most files that one call may claim to be compared: looking at
// them must stay cheap beside the record that is written.
const maxFiles = 16

// Of returns the state of each file that is claimed, in the order of the claims,
// and false when the call cannot be compared. A claim in an intention mode on a
// node of another kind, as on a server, says only that something below it is
// meant: it is passed over where a file says what.
func Of(claims []tool.Claim) ([]doubt.FileState, bool) {
	var states []doubt.FileState
	changes := false
	for _, c := range claims {
		path, isFile := strings.CutPrefix(c.Resource, "file:")
		intention := c.Mode == tool.IS || c.Mode == tool.IX
		switch {
		case !isFile && intention:
			continue
		case !isFile, intention, len(states) == maxFiles:
			return nil, false
		}
		state, ok := of(filepath.FromSlash(path))
		if !ok {
			return nil, false
		}
		states = append(states, state)
		changes = changes || c.Mode.Writes()
	}
	return states, changes
}

// of is the state of one path, which has no links in it.
func of(path string) (doubt.FileState, bool) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absentIn(filepath.Dir(path))
	}
	if err != nil || !info.Mode().IsRegular() {
		return doubt.FileState{}, false
	}
	return identified(info, doubt.FileState{Size: info.Size(), Modified: info.ModTime().UnixNano()})
}

// absentIn is the state of a path at which nothing is: that of the nearest folder above
// it. A file that was made there and removed again leaves no other trace.
func absentIn(folder string) (doubt.FileState, bool) {
	info, err := os.Lstat(folder)
	if parent := filepath.Dir(folder); errors.Is(err, fs.ErrNotExist) && parent != folder {
		return absentIn(parent)
	}
	if err != nil || !info.IsDir() {
		return doubt.FileState{}, false
	}
	return identified(info, doubt.FileState{Absent: true, Modified: info.ModTime().UnixNano()})
}

// identified adds what tells this file from another of the same name. Where the system
// does not tell, nothing is compared.
func identified(info fs.FileInfo, state doubt.FileState) (doubt.FileState, bool) {
	id, ok := fileid.Of(info)
	state.Device, state.Inode, state.Changed = id.Device, id.Inode, id.Changed
	return state, ok
}
