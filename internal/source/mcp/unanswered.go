package mcp

import (
	"errors"

	"callgate/internal/source/mcp/remote"
	"callgate/tool"
)

// unanswered is a request that was sent and has no answer, for the reason that
// cause says. One that was to change something may have done so: it is in doubt.
// One that its asker gave up stays cancelled, with a word on that.
func (r request) unanswered(cause error) failure {
	var e *tool.Error
	if !r.changes || !errors.As(cause, &e) {
		return failure{unanswered, cause}
	}
	out := *e
	const look = "it may have happened all the same: look at what it was to change before you repeat it"
	if out.Hint == "" {
		out.Hint = look
	} else {
		out.Hint = look + "; " + out.Hint
	}
	if out.Kind != tool.Cancelled {
		out.Kind = tool.InDoubt
	}
	return failure{unanswered, &out}
}

// unreadable is a request to which something came that is no answer. A gateway
// that lost the server behind it knows no more than we do.
func (s *sender) unreadable(r request, err error) failure {
	e := tool.Errorf("mcp.call", tool.Failed,
		"the MCP server %s answered %s with something that is no answer: %v", s.cfg.Name, r.name(), err)
	if errors.Is(err, remote.ErrGateway) {
		e.Kind = tool.Unavailable
		return r.unanswered(s.secrets.RedactError(e))
	}
	return failure{answered, s.secrets.RedactError(e.WithHint("this is a defect in the server"))}
}
