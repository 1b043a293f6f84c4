package sandbox

import (
	"context"

	"callgate/internal/sandbox/prefork"
)

// RunBy is RunOn with the helpers of a keeper.
func RunBy(ctx context.Context, by *prefork.Keeper, s Spec, machine Report) (Exit, error) {
	if err := s.settle(); err != nil {
		return Exit{}, err
	}
	return s.runBy(ctx, by, machine)
}
