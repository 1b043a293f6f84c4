package gate

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/detach"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/lockqueue"
	"callgate/internal/gate/match"
	"callgate/internal/gate/notice"
	"callgate/internal/gate/order"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/schema"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/tool"
)

// callState is one call on its way: what each step decided.
type callState struct {
	caller *Caller
	call   tool.Call
	start  time.Time
	how    callOptions

	view      *registry.View
	tool      *tool.Tool
	schema    *schema.Schema
	decision  policy.Decision
	coercions []string
	problem   []string // why app files that were changed do not count; empty: they do, or this was said before
	claims    []tool.Claim
	// byArguments says that rules about arguments had a say in the decision.
	byArguments bool
	disk        *match.Disk       // what was found on disk for its command line; nil: it has none
	ruleFiles   []string          // the files with rules for agents that the call would change
	lasting     []lasting.Found   // the lasting grants that the call runs by
	request     *approval.Request // set when a human is or was asked

	ticket      lockqueue.Ticket // set when a place in the lock queue was taken ahead
	lease       lockqueue.Lease
	handlerDone <-chan struct{} // set for a handler that exceeded its time; closed when it returns
	result      *tool.Result
	stage       recordStage
}

// callOptions is how a call was asked for.
type callOptions struct {
	noWait     bool
	whole      bool
	unattended bool
	movable    bool
	background bool            // nobody waits for the result: notices for the principal can wait
	detach     *detach.Call    // of one that can go on in the background; nil: it cannot
	place      *order.Place    // in its answer's order; nil: it is in none
	next       int             // the step that a batch has come to
	waits      bool            // a control tool that makes several calls, and waits before all of them
	retry      *retryPlan      // of a call in the place of one in doubt; nil: it is no such call
	told       []notice.Notice // of which its caller was told
	submitted  string          // the request that is before a human
	decided    func()          // ends that permissions may decide about it
	verdict    *HookVerdict    // what the hooks say of it; nil: they were not asked yet
	script     *approval.Script
}

// recordStage is how far a call is recorded.
type recordStage uint8

const (
	recordedNone recordStage = iota
	recordedAsked
	recordedBegun
	recordedEnded
)

func (g *Gate) newCall(caller *Caller, r CallRequest) *callState {
	caller = caller.atCall()
	c := &callState{
		caller: caller, start: time.Now(), problem: caller.problem(),
		call: tool.Call{
			ID: cmp.Or(r.ID, NewID()), Parent: r.Parent, Principal: caller.id.Principal, Name: r.Name, Args: r.Args,
			ModelChoice: r.ModelChoice,
		},
		how: callOptions{
			noWait: r.NoWait || caller.id.NoWait && r.Script == nil, whole: r.Whole, unattended: r.Unattended,
			movable: r.Movable, background: r.Background || r.Unattended, script: r.Script,
		},
	}
	c.call.NoWait, c.call.Unattended = c.how.noWait, c.how.unattended
	if r.Parent != "" && r.ID == ChildID(r.Parent) { // no client names its calls so
		c.how.place = g.lent.By(r.Parent)
	}
	return c
}

// isSingleRecord reports whether the whole call is one record, written behind:
// it only reads, no human was asked, and the app wants no more.
func (c *callState) isSingleRecord() bool {
	return c.request == nil && c.tool != nil && !c.tool.Runtime.SideEffect.Durable() && !c.middleware().Audit
}

// warnings are what the answer says beside the result.
func (c *callState) warnings() []string { return slices.Concat(c.problem, c.coercions) }

// middleware is what the app wants done around the call.
func (c *callState) middleware() Middleware {
	return c.caller.mods().Middleware[c.tool.ID.Namespace]
}

// record starts a record about this call.
func (c *callState) record(kind journal.Kind) journal.Record {
	r := journal.Record{
		Kind: kind, Call: c.call.ID, Parent: c.call.Parent,
		Principal: &c.call.Principal, Name: c.call.Name, ModelChoice: c.call.ModelChoice,
	}
	if c.tool != nil {
		r.Tool = c.tool.ID.String()
	}
	return r
}

// NewID makes the ID of a call, for a caller that must know it before the call
// is made.
func NewID() string { return newID("c") }

// newID makes a short identifier: a letter that says what it names, and 64
// random bits.
func newID(prefix string) string {
	buf := make([]byte, 0, 16)
	buf = append(buf, prefix...)
	return string(strconv.AppendUint(buf, rand.Uint64(), 36))
}
