package proposals

import (
	"context"
	"errors"

	"callgate/internal/document"
	"callgate/internal/gate"
	"callgate/internal/proposal"
	"callgate/internal/task"
	"callgate/tool"
)

// ErrKilled is what a kernel gives that was killed while it wrote.
var ErrKilled = errors.New("killed")

// StopWriting has the kernel stop, as if killed, before or after it has written what was
// accepted.
func (p *Proposals) StopWriting(after bool) { p.opt.Gate = killed{p.opt.Gate, after, p} }

type killed struct {
	Gate
	after bool
	p     *Proposals
}

func (k killed) Call(ctx context.Context, c *gate.Caller, r gate.CallRequest) *tool.Result {
	if k.after {
		k.Gate.Call(ctx, c, r)
	}
	k.p.opt.Documents = gone{k.p.opt.Documents}
	return &tool.Result{Status: tool.Failure, Error: &tool.Error{Message: "killed"}}
}

// BeforeWriting runs something before the gate is asked, and after everything else was checked.
func (p *Proposals) BeforeWriting(do func()) { p.opt.Gate = before{p.opt.Gate, do} }

type before struct {
	Gate
	do func()
}

func (b before) Call(ctx context.Context, c *gate.Caller, r gate.CallRequest) *tool.Result {
	b.do()
	return b.Gate.Call(ctx, c, r)
}

// gone is a store that nothing reaches any more.
type gone struct{ document.Store }

func (gone) Get(context.Context, string, string) (document.Document, error) {
	return document.Document{}, ErrKilled
}

func (gone) List(context.Context, string, string, string, int) ([]document.Document, error) {
	return nil, ErrKilled
}

func (gone) Write(context.Context, ...document.Change) (int64, error) { return 0, ErrKilled }

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
