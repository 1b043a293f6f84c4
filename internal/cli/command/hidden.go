package command

import (
	"context"

	"golang.org/x/term"

	"callgate/tool"
)

const hiddenOp = "cli.ReadHidden"

// ReadHidden reads a line from a terminal that does not show it. When ctx ends,
// the terminal is restored.
func ReadHidden(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, &tool.Error{Op: hiddenOp, Kind: tool.Failed, Message: "the terminal cannot be read", Err: err}
	}
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil {
			return nil, &tool.Error{Op: hiddenOp, Kind: tool.Cancelled, Message: "nothing was typed", Err: l.err}
		}
		return l.text, nil
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, &tool.Error{Op: hiddenOp, Kind: tool.Cancelled, Message: "cancelled: nothing was set"}
	}
}
