package statedir

import (
	"errors"
	"io/fs"

	"callgate/internal/durable"
	"callgate/tool"
)

// RetireNode gives up the ID of this directory's kernel, when nothing is kept under it any more. The file stays under
// another name.
func (h *Held) RetireNode() error {
	err := durable.Move(h.nodeFile(), h.nodeFile()+".moved")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &tool.Error{
			Op: "statedir.Node", Kind: tool.Unavailable, Message: "the file with the node's ID cannot be renamed", Err: err,
		}
	}
	return nil
}
