//go:build !linux && !darwin

package dialog

import "golang.org/x/term"

// hide does nothing here: the terminal is quiet while it is read.
func hide(int) error { return nil }

func hiddenLine(fd int) ([]byte, error) { return term.ReadPassword(fd) }
