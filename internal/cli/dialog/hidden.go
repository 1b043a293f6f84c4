package dialog

import (
	"context"

	"golang.org/x/term"

	"callgate/tool"
)

const hiddenOp = "dialog.ReadHidden"

// ReadHidden asks, and reads a line from a terminal that does not show it: it is quiet
// before the question stands there, since who is quick types at once. When ctx ends, the
// terminal is restored.
func ReadHidden(ctx context.Context, fd int, ask func()) ([]byte, error) {
	before, err := term.GetState(fd)
	if err == nil {
		err = hide(fd)
	}
	if err != nil {
		return nil, &tool.Error{Op: hiddenOp, Kind: tool.Unavailable, Message: "the terminal cannot be read", Err: err}
	}
	defer func() { _ = term.Restore(fd, before) }()
	ask()
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := hiddenLine(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil {
			return nil, &tool.Error{Op: hiddenOp, Kind: tool.Cancelled, Message: "nothing was typed", Err: l.err}
		}
		return l.text, nil
	case <-ctx.Done():
		return nil, &tool.Error{Op: hiddenOp, Kind: tool.Cancelled, Message: "cancelled: nothing was set",
			Err: context.Cause(ctx)}
	}
}
