package acp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// The options of a request for permission. A yes that lasts has the number of its choice
// after optionLasting.
const (
	optionOnce    = "once"
	optionLasting = "lasting-"
	optionNo      = "no"
)

// ask asks the human at the editor whether a call may run. It is asked beside the turn,
// which other calls, or somebody who answers elsewhere, may move on meanwhile.
func (t *turn) ask(a protocol.Approval) {
	ctx, cancel := context.WithCancel(t.ctx)
	t.askedMu.Lock()
	t.asked[a.ID] = cancel
	t.askedMu.Unlock()
	shown := t.shownCall(a)
	t.asking.Go(func() {
		defer cancel()
		answer, err := t.agent.editor.RequestPermission(ctx, sdk.RequestPermissionRequest{
			SessionId: t.id, Options: optionsOf(a), ToolCall: shown,
		})
		if ctx.Err() != nil {
			return // it was answered elsewhere, or the turn has ended
		}
		if err != nil {
			t.say("The editor did not ask: " + err.Error() + ". The call waits: callgate approvals " + a.ID + " answers it.")
			return
		}
		t.answer(ctx, a, answer.Outcome)
	})
}

// takeBack takes back a question that was answered elsewhere.
func (t *turn) takeBack(id string) {
	t.askedMu.Lock()
	defer t.askedMu.Unlock()
	if cancel := t.asked[id]; cancel != nil {
		cancel()
		delete(t.asked, id)
	}
}

// answer tells the kernel what the human said.
func (t *turn) answer(ctx context.Context, a protocol.Approval, o sdk.RequestPermissionOutcome) {
	var given protocol.Answer
	switch {
	case o.Selected == nil: // the editor was told to stop, or closed the question
		return
	case o.Selected.OptionId == optionOnce:
		given.Approve = true
	case strings.HasPrefix(string(o.Selected.OptionId), optionLasting):
		n, err := strconv.Atoi(strings.TrimPrefix(string(o.Selected.OptionId), optionLasting))
		if err != nil || n < 1 || n > len(a.Choices) {
			return
		}
		given.Approve, given.Remember = true, &protocol.Remember{Choice: n}
	case o.Selected.OptionId != optionNo:
		return
	}
	err := t.conversation.AnswerForm(ctx, protocol.FormAnswer{Client: t.agent.human(), Approval: a.ID, Answer: given})
	if err != nil && tool.KindOf(err) != tool.Conflict && ctx.Err() == nil {
		t.say("The answer did not count: " + err.Error())
	}
}

// shownCall is the call that is asked about, whole: nothing in it is invisible.
func (t *turn) shownCall(a protocol.Approval) sdk.ToolCallUpdate {
	name := a.Call.Tool.Dotted()
	id := a.Call.ID
	if t.calls[id] == nil && t.calls[a.Call.Parent] != nil { // a child is asked about at the call that was shown
		id = a.Call.Parent
	}
	content := difference(name, a.Call.Args, a.Workspace)
	var text strings.Builder
	fmt.Fprintf(&text, "%s wants to run in %s", visible.Text(name), visible.Text(a.Workspace))
	if a.Reason != "" {
		fmt.Fprintf(&text, " (%s)", visible.Clip(a.Reason, maxReason))
	}
	fmt.Fprintf(&text, ":\n%s", strings.Join(arguments.Lines(a.Call.Args), "\n"))
	for _, c := range a.Claims {
		if c.Mode.Writes() && c.Mode != tool.IX {
			fmt.Fprintf(&text, "\nIt changes %s.", visible.Text(c.Resource))
		}
	}
	return sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId(id), Title: sdk.Ptr(titleFor(name, a.Call.Args)), Kind: sdk.Ptr(kindOf(name)),
		Status: sdk.Ptr(sdk.ToolCallStatusPending), RawInput: a.Call.Args,
		Content: append(content, textContent(text.String())...),
	}
}

// maxReason bounds why a human is asked.
const maxReason = 300

// optionsOf are how an approval may be answered.
func optionsOf(a protocol.Approval) []sdk.PermissionOption {
	options := []sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: optionOnce}}
	for i, c := range a.Choices {
		options = append(options, sdk.PermissionOption{
			Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always allow: " + visible.Text(c.Text),
			OptionId: sdk.PermissionOptionId(optionLasting + strconv.Itoa(i+1)),
		})
	}
	return append(options,
		sdk.PermissionOption{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Reject", OptionId: optionNo})
}
