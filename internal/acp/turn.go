package acp

import (
	"context"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// turn shows one turn to the editor.
type turn struct {
	*session
	ctx    context.Context // ends when the turn does
	cancel context.CancelFunc

	calls   map[string]*call
	last    *call // where output goes whose call is not known
	asked   map[string]context.CancelFunc
	asking  sync.WaitGroup
	askedMu sync.Mutex
}

// call is a call that was shown.
type call struct {
	protocol.AgentCall
	output strings.Builder
	ended  bool
}

func newTurn(ctx context.Context, s *session) *turn {
	t := &turn{session: s, calls: map[string]*call{}, asked: map[string]context.CancelFunc{}}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// close takes back what was asked and not answered.
func (t *turn) close() {
	t.cancel()
	t.asking.Wait()
}

// show shows what happened.
func (t *turn) show(e protocol.TurnEvent) {
	switch {
	case e.Delta != nil:
		t.showDelta(*e.Delta)
	case e.Call != nil:
		t.startCall(*e.Call)
	case e.Output != nil:
		t.showOutput(*e.Output)
	case e.Approval != nil:
		t.ask(*e.Approval)
	case e.Answered != nil:
		t.takeBack(e.Answered.ID)
	case e.Question != nil:
		t.question(*e.Question)
	case e.Result != nil:
		t.endCall(*e.Result)
	case e.Wait != nil:
		t.say(protocol.WaitText(*e.Wait, time.Now()))
	case e.Notice != "":
		t.say(e.Notice)
	}
}

func (t *turn) showDelta(d llm.Delta) {
	switch d.Kind {
	case llm.DeltaText:
		if d.Text != "" {
			t.update(sdk.UpdateAgentMessageText(d.Text))
		}
	case llm.DeltaReasoning:
		if d.Text != "" {
			t.update(sdk.UpdateAgentThoughtText(d.Text))
		}
	}
}

// startCall shows a call, once.
func (t *turn) startCall(c protocol.AgentCall) *call {
	if shown := t.calls[c.ID]; shown != nil {
		return shown
	}
	shown := &call{AgentCall: c}
	t.calls[c.ID], t.last = shown, shown
	t.update(startOf(c, t.conversation.Workspace, sdk.ToolCallStatusInProgress))
	return shown
}

// maxOutput bounds how much of what a call prints is shown while it runs: the whole is
// sent with each piece.
const maxOutput = 16 << 10

func (t *turn) showOutput(o protocol.Output) {
	c := t.calls[o.Call]
	if c == nil {
		c = t.last
	}
	if c == nil || c.ended || c.output.Len() >= maxOutput {
		return
	}
	c.output.WriteString(o.Display())
	t.update(sdk.UpdateToolCall(sdk.ToolCallId(c.ID), sdk.WithUpdateContent(textContent(c.output.String()))))
}

func (t *turn) endCall(end protocol.CallEnd) {
	c := t.startCall(end.Call)
	c.ended = true
	status := sdk.ToolCallStatusCompleted
	if end.Result == nil || end.Result.Status == tool.Failure || end.Result.Status == tool.Refused {
		status = sdk.ToolCallStatusFailed
	}
	t.update(sdk.UpdateToolCall(sdk.ToolCallId(c.ID), sdk.WithUpdateStatus(status),
		sdk.WithUpdateContent(resultContent(end.Result))))
	if isMemory(end.Call) {
		t.showPlan()
	}
}

// ended shows why a turn ended where its words do not, and returns the protocol's word
// for it.
func (t *turn) ended(end protocol.TurnEnd) (sdk.StopReason, error) {
	reason := stopReasons[end.Reason]
	switch {
	case end.Reason == protocol.EndFailed:
		return "", &sdk.RequestError{Code: -32603, Message: end.Error}
	case end.Reason == protocol.EndInterrupted && t.ctx.Err() == nil:
		return "", &sdk.RequestError{Code: -32603,
			Message: "the turn was interrupted: " + end.Error + " (send a message to go on)"}
	case reason == "":
		reason = sdk.StopReasonEndTurn
	}
	if end.Error != "" && end.Reason != protocol.EndCancelled {
		t.say(end.Error)
	}
	t.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: titleOf(end.Info)}})
	return reason, nil
}

// stopReasons are the protocol's words; a reason that is not here is the end of a turn.
var stopReasons = map[protocol.EndReason]sdk.StopReason{
	protocol.EndDone:        sdk.StopReasonEndTurn,
	protocol.EndMaxTurns:    sdk.StopReasonMaxTurnRequests,
	protocol.EndCut:         sdk.StopReasonMaxTokens,
	protocol.EndCost:        sdk.StopReasonMaxTurnRequests,
	protocol.EndRefused:     sdk.StopReasonRefusal,
	protocol.EndCancelled:   sdk.StopReasonCancelled,
	protocol.EndInterrupted: sdk.StopReasonCancelled,
}
