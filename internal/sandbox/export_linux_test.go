package sandbox

import (
	"context"

	"callgate/internal/sandbox/prefork"
)

// RunBy is RunOn with the helpers of a pool.
func RunBy(ctx context.Context, by *prefork.Pool, s Spec, machine Report) (Exit, error) {
	if err := s.normalize(); err != nil {
		return Exit{}, err
	}
	return s.runWith(ctx, by, machine)
}
