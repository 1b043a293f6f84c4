//go:build !linux

package sandbox

import (
	"context"
	"time"
)

// run makes the run unconfined, if the spec accepts that: the sandbox needs Linux.
func (s *Spec) run(ctx context.Context, machine Report) (Exit, error) {
	if s.Unconfined {
		return s.runUnconfined(ctx)
	}
	missing := machine.missing(s)
	if !s.Relaxed {
		return Exit{}, cannot(missing)
	}
	exit, err := s.runUnconfined(ctx)
	if s.Network && s.Proxy != nil {
		missing = append(missing, unguarded)
	}
	exit.Missing = missing
	return exit, err
}

// Supervises reports whether runs of every mode can be made: they need Linux.
func Supervises() bool { return false }

// pool holds nothing: no helpers are needed here.
type pool struct{}

func newPool(time.Duration) pool { return pool{} }

func (pool) Close() {}

func (r *Report) probe() {
	r.Notes = append(r.Notes,
		"confined runs need Linux: elsewhere a command has its own process group and environment, and no isolation")
}

// machineMemory is only needed where memory is watched.
func machineMemory() int64 { return 0 }
