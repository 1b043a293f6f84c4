//go:build !linux

package process

import (
	"context"
	"errors"
	"io"
)

// canBox reports whether Callgate's sandbox can hold a browser: it needs Linux.
func canBox() bool { return false }

var errNoBox = errors.New("there is no sandbox for it here")

func (p *Process) startBoxed([]string) error { return errNoBox }

func runBoxed(context.Context, string, string, []string, io.Writer, io.Writer) error { return errNoBox }
