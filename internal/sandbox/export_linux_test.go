package sandbox

import (
	"context"

	"callgate/internal/sandbox/standby"
)

// RunBy is RunOn with the helpers of a keeper.
func RunBy(ctx context.Context, by *standby.Keeper, s Spec, machine Report) (Exit, error) {
	if err := s.settle(); err != nil {
		return Exit{}, err
	}
	return s.runBy(ctx, by, machine)
}
