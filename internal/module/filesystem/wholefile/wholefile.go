// Package wholefile reads files that are to be changed, and refuses those that are not
// text.
package wholefile

import (
	"errors"
	"io/fs"

	"callgate/internal/amount"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// MaxSize limits a file that is changed in one piece, which is held in memory.
const MaxSize = textedit.MaxSize

// BinaryError refuses a file that is not text.
func BinaryError(w workfile.Workspace, at workfile.Path, info fs.FileInfo) error {
	return tool.Errorf(w.Op, tool.Invalid, "%q is a binary file of %s, not text", at.Shown, amount.Bytes(info.Size())).
		WithHint("use a program that understands it through a shell tool, for example: file, strings, or xxd -l 256")
}

// Read reads a whole file that is to be changed.
func Read(w workfile.Workspace, at workfile.Path, maxSize int64) ([]byte, fs.FileInfo, error) {
	data, info, err := w.ReadAll(at, maxSize)
	var large *workfile.TooLargeError
	if errors.As(err, &large) {
		return nil, nil, tool.Errorf(w.Op, tool.Invalid, "%q has %s; the most that can be changed in one piece is %s",
			at.Shown, amount.Bytes(large.Size), amount.Bytes(large.Max)).
			WithHint("use a program such as sed through a shell tool")
	}
	return data, info, err
}
