package calls

import (
	"strings"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// made finds what became of a call that an earlier kernel may have begun: its result,
// that a human was asked and has not answered, or that it is in doubt. It is nil for a
// call that has touched nothing: that one is made now. A call whose state cannot be
// read is in doubt, because nothing may happen twice.
func (p *pending) made(s *session.Session) *tool.Result {
	r, err := s.Made(p.ctx, p.id)
	if err != nil {
		return mcpresult.Failure("mcpserver.again", session.DoubtError(p.id))
	}
	if r == nil || r.Status != tool.Waiting {
		return r
	}
	if asked, ok := p.askedBefore(); ok {
		r.Call, r.Approval = asked.Call.ID, asked.ID
		r.Summary = asked.Call.Tool.Dotted() + " waits for a human's approval"
		return r
	}
	// It was answered, or the kernel runs it.
	r, err = s.Collect(p.ctx, p.id)
	if tool.KindOf(err) == tool.NotFound {
		r, err = s.Collect(p.ctx, session.ChildID(p.id))
	}
	if err != nil {
		return mcpresult.Failure("mcpserver.again", err)
	}
	return r
}

// askedBefore returns the request for approval that waits for the call, or for the one
// that a control tool made in its place.
func (p *pending) askedBefore() (approval.Request, bool) {
	waiting, err := p.calls.Kernel.Approvals.List(p.ctx, approval.Pending, 0)
	if err != nil {
		return approval.Request{}, false
	}
	for _, r := range waiting {
		if r.Call.ID == p.id || strings.HasPrefix(r.Call.ID, p.id+".") {
			return r, true
		}
	}
	return approval.Request{}, false
}
