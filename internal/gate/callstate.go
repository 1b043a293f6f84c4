package gate

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/tool"
)

// callState is one call on its way through the door: what each station decided.
type callState struct {
	caller     *Caller
	call       tool.Call
	noWait     bool
	background bool // nobody reads the result: what its principal must be told can wait
	start      time.Time

	view      *registry.View
	tool      *tool.Tool
	schema    *schema.Schema
	decision  policy.Decision
	coercions []string
	claims    []tool.Claim
	request   *approval.Request // set when a human is or was asked

	ticket      *lock.Ticket // in the lock queue, when it was taken ahead
	lease       *lock.Lease
	handlerDone <-chan struct{} // closed when a handler that outstayed its time returns
	result      *tool.Result
	stage       recordStage
}

// recordStage is how far a passage is recorded.
type recordStage uint8

const (
	recordedNone recordStage = iota
	recordedAsked
	recordedBegun
	recordedEnded
)

func newCallState(s *Caller, ask CallRequest) *callState {
	return &callState{
		caller: s,
		call:   tool.Call{ID: cmp.Or(ask.ID, newID("c")), Parent: ask.Parent, Principal: s.Principal, Name: ask.Name, Args: ask.Args},
		noWait: ask.NoWait || s.NoWait,
		start:  time.Now(),
	}
}

// isSingleRecord reports whether the whole call is told in one record, written behind:
// it only reads, no human was asked, and the app wants no more.
func (p *callState) isSingleRecord() bool {
	return p.request == nil && p.tool != nil && !p.tool.Runtime.SideEffect.Durable() && !p.caller.Middleware[p.tool.ID.Namespace].Audit
}

// record starts a record about this call.
func (p *callState) record(kind journal.Kind) journal.Record {
	r := journal.Record{
		Kind: kind, Call: p.call.ID, Parent: p.call.Parent,
		Principal: &p.call.Principal, Name: p.call.Name,
	}
	if p.tool != nil {
		r.Tool = p.tool.ID.String()
	}
	return r
}

// newID makes a short identifier: a letter that says what it names, and 64
// random bits.
func newID(prefix string) string {
	buf := make([]byte, 0, 16)
	buf = append(buf, prefix...)
	return string(strconv.AppendUint(buf, rand.Uint64(), 36))
}

// asError makes any error one that can be answered.
func asError(op string, err error) *tool.Error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return &tool.Error{Op: op, Kind: tool.Failed, Message: err.Error(), Err: err}
}

// failureResult is the answer to a call that a station ended, or whose handler failed.
func failureResult(callID string, e *tool.Error) *tool.Result {
	status := tool.Failure
	if e.Kind == tool.Denied || e.Kind == tool.Limited {
		status = tool.Refused
	}
	return &tool.Result{Status: status, Summary: e.Error(), Error: e, Call: callID}
}
