package statedir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"callgate/tool"
)

// HoldReading takes a directory that can be read and not written, for a process that
// only reads. cause is why Hold failed; nil is returned if that is something else. The
// lock is taken where there is one, so that no other process writes meanwhile.
func (d Dir) HoldReading(cause error) *Held {
	if !errors.Is(cause, syscall.EROFS) && !errors.Is(cause, fs.ErrPermission) {
		return nil
	}
	if _, err := os.ReadDir(string(d)); err != nil {
		return nil
	}
	h := &Held{Dir: d, readOnly: tool.Errorf("statedir.Hold", tool.Unavailable,
		"the state directory cannot be used for more than reading: %w", errors.Unwrap(cause)).
		WithHint("see how its disk is mounted and who owns it, or name another with --state or CALLGATE_STATE")}
	f, err := os.Open(d.lockFile())
	if err != nil {
		return h
	}
	if d.lock(f) != nil {
		_ = f.Close()
		return nil
	}
	h.lock = f
	return h
}

// ReadOnly says why the directory is only read; nil: it is written too.
func (h *Held) ReadOnly() error { return h.readOnly }
