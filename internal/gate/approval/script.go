package approval

import (
	"context"

	"callgate/tool"
)

// Script is the place in a script at which a call stands. Requests with one Call and one
// Batch are asked about together: a human sees them at once, and may answer them at once.
type Script struct {
	Call    string `json:"call"` // the script's own
	Program string `json:"program"`
	Line    int    `json:"line"`
	Batch   int    `json:"batch"` // from 1
	// Of is how many calls the batch has, which need not all be asked about.
	Of int `json:"of,omitempty"`
	// Offer is what a yes for the rest of the script covers; nil: no more than this call.
	Offer *Choice `json:"offer,omitempty"`
}

// AtLine is the line of the program; 0: there is no script.
func (s *Script) AtLine() int {
	if s == nil {
		return 0
	}
	return s.Line
}

// mayLast reports whether an answer to a request may be for the rest of its script.
func (s *Script) mayLast(a *Answer) bool {
	return s != nil && (!a.Approve || s.Offer != nil && len(a.Args) == 0)
}

// isWith reports whether two requests are asked about together.
func (s *Script) isWith(o *Script) bool {
	return s != nil && o != nil && s.Call == o.Call && s.Batch == o.Batch
}

// checkWith returns the other requests that an answer is for. They belong to the same
// batch of the same script, and so to the same asker; those that were answered meanwhile
// are left out.
func (q *Queue) checkWith(ctx context.Context, r Request, a *Answer) ([]Request, error) {
	const op = "approval.Answer"
	if len(a.With) > 0 && len(a.Args) > 0 {
		return nil, tool.Errorf(op, tool.Invalid, "edited arguments are for one call").
			WithHint("answer the others by themselves")
	}
	var others []Request
	for _, id := range a.With {
		other, err := q.store.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if !r.Script.isWith(other.Script) {
			return nil, tool.Errorf(op, tool.Invalid, "approval %s is not asked about together with %s",
				tool.Truncate(id), r.ID).WithHint("answer it by itself")
		}
		if other.State == Pending && other.ID != r.ID {
			others = append(others, other)
		}
	}
	return others, nil
}

// settleAll settles a request, and others with the same answer.
func (q *Queue) settleAll(ctx context.Context, r Request, others []Request, to State, a Answer) error {
	same := a
	same.With, same.Remember, same.Always, same.Script = nil, nil, false, false
	err := q.settle(ctx, r.ID, to, a)
	if err != nil && tool.KindOf(err) == tool.Conflict {
		return err
	}
	for _, other := range others {
		if e := q.settle(ctx, other.ID, to, same); e != nil && tool.KindOf(e) != tool.Conflict {
			return e
		}
	}
	return err
}
