package mcphttp

import (
	"context"
	"sync"

	"callgate/internal/client/liveness"
)

// Watched is the kernel behind a server of clients over HTTP. The zero value is not
// watched.
type Watched struct {
	Kernel liveness.Process
	Say    func(string) // takes what is to be said about the kernel; nil: nobody is told
}

// once says what many requests find at the same time once.
type once struct {
	say    func(string)
	mu     sync.Mutex
	silent bool // so it was said of the kernel
}

func (o *once) tell(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	silent := text != liveness.AnswersAgain
	if o.say != nil && silent != o.silent {
		o.say(text)
	}
	o.silent = silent
}

// reset forgets what was said: a request has ended.
func (o *once) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = false
}

// watchForwarded watches a request of a client over HTTP, which has a bound of its own,
// until the function that is returned is called.
func watchForwarded(ctx context.Context, kernel liveness.Process, o *once) (stop func()) {
	_, w := liveness.Watch(ctx, kernel, o.tell, liveness.Request{Long: true})
	return func() {
		w.Stop()
		o.reset()
	}
}
