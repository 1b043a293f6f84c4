package proposals

import (
	"context"

	"callgate/internal/proposal"
	"callgate/internal/task"
)

// FailTelling has nothing be told any more, as if the kernel had been killed before it.
func (p *Proposals) FailTelling(err error) {
	p.opt.Tell = func(context.Context, task.Task) error { return err }
}

// WriteBelow puts a file in its place; between runs when the place was checked.
func WriteBelow(f proposal.File, between func()) error {
	place, err := openPlace(f)
	if err != nil {
		return err
	}
	defer place.Close()
	between()
	return place.write(f)
}
