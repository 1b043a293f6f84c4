package watchers

import (
	"context"
	"time"
)

// pool makes the checks of all watchers. Law: at most maxChecks run at once, and a check
// waits for its turn. They are not run by the watchers' own goroutines: of those there
// may be thousands, which wait most of the time and have small stacks then, and growing
// a stack for each check costs a tenth of it.
type pool struct {
	work  chan func()
	slots chan struct{} // one for each worker
}

// idle is how long a worker waits for work.
const idle = 5 * time.Second

func newPool() pool {
	return pool{work: make(chan func()), slots: make(chan struct{}, maxChecks)}
}

// do runs a check and waits for its end. A context that ends before its turn has it
// not run.
func (p pool) do(ctx context.Context, check func()) {
	done := make(chan struct{})
	job := func() {
		defer close(done)
		check()
	}
	select { // a worker that waits is warm
	case p.work <- job:
		<-done
		return
	default:
	}
	select {
	case p.work <- job:
	case p.slots <- struct{}{}:
		go p.worker(job)
	case <-ctx.Done():
		return
	}
	<-done
}

// worker runs checks until there were none for a while.
func (p pool) worker(job func()) {
	defer func() { <-p.slots }()
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		job()
		timer.Reset(idle)
		select {
		case job = <-p.work:
		case <-timer.C:
			return
		}
	}
}
