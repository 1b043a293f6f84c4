package rulefiles

import (
	"os"

	"callgate/tool"
)

// PinnedFolder is a folder that must stay where it is. Info is its identity when
// the kernel started.
type PinnedFolder struct {
	Path string
	Info os.FileInfo
}

// Check returns an error unless the folder at the path is still the same.
func (f PinnedFolder) Check() error {
	info, err := os.Stat(f.Path)
	if err == nil && os.SameFile(info, f.Info) {
		return nil
	}
	const text = "nothing runs here, because the kernel's own folder %s was moved or replaced"
	return tool.Errorf("gate.grant", tool.Unavailable, text, f.Path).
		WithHint("put it back, or stop the kernel and start it again")
}
