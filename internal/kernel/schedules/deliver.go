package schedules

import (
	"context"
	"encoding/json"

	"callgate/internal/gate"
	"callgate/internal/gate/match"
	"callgate/internal/gate/permission"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/tasks"
	"callgate/tool"
)

// sendTool is the tool that reaches a channel.
const sendTool = "channels.send_message"

// message is what it is called with.
type message struct {
	Channel string `json:"channel"`
	Message string `json:"message"`
}

// judgeChannel returns an error if results could not be sent to a channel by the rules
// of now, and whether a human is asked about each.
func (s *Scheduler) judgeChannel(ctx context.Context, own *session.Session, name string) (asks bool, err error) {
	const op = "schedules.Schedule"
	args, err := json.Marshal(message{name, "the result of a scheduled run"})
	if err != nil {
		return false, err
	}
	target, err := deferred.FindTarget(ctx, own, &s.schemas, sendTool, args)
	if tool.KindOf(err) == tool.NotFound {
		return false, tool.Errorf(op, tool.NotFound, "there is no channel %q: %s is not among your tools",
			tool.Truncate(name), sendTool).WithHint(hintConversation)
	}
	if err != nil {
		return false, unsendable(name, tool.KindOf(err), err.Error())
	}
	if s.opt.Mode(own.ID()) == permission.Plan {
		return false, unsendable(name, tool.Denied, "in permission mode plan nothing is sent")
	}
	call := &match.Call{Module: target.Tool.ID.Namespace, Action: target.Tool.ID.Name, Workspace: own.Workspace()}
	if err := json.Unmarshal(target.Args, &call.Args); err != nil {
		return false, err
	}
	d := own.Caller().DecideCall(target.Tool, call)
	if d.Verdict != policy.Allow && d.Verdict != policy.Approve {
		return false, unsendable(name, tool.Denied, d.Reason)
	}
	if s.opt.Channels != nil {
		err = s.opt.Channels.Check(ctx, deferred.AskerOf(own, tool.Call{}), name)
	}
	return d.Verdict == policy.Approve, err
}

// unsendable is the error of a channel that results may not be sent to.
func unsendable(channel string, kind tool.Kind, why string) error {
	return tool.Errorf("schedules.Schedule", kind, "results cannot be sent to the channel %q: %s",
		tool.Truncate(channel), why).WithHint(hintConversation)
}

const hintConversation = "give output_channel: conversation, and the result is told here"

// deliver sends the result of a run to its channel, as its asker. The call has an ID of
// the run, and is made once; later says that it was not made, and that the next try may.
func (s *Scheduler) deliver(ctx context.Context, r *tasks.Run, one *firing) (later bool, err error) {
	text := one.head() + "\n" + one.text(maxDelivered)
	args, err := json.Marshal(message{one.job.Channel, text})
	if err != nil {
		return false, err
	}
	id := one.id + "-deliver"
	result := s.opt.Calls.Call(ctx, r.Asker, gate.CallRequest{ID: id, Name: sendTool, Args: args, Background: true})
	switch err = result.Err(); {
	case err == nil && result.Status != tool.Success:
		err = tool.Errorf("schedules.deliver", tool.Failed, "%s", result.Summary)
	case tool.KindOf(err) == tool.InDoubt: // it was allowed, and a delivery has the ID of the call: twice is once
		err = s.opt.Channels.Deliver(ctx, r.Asker, one.job.Channel, id, text)
		later = err != nil
	case tool.KindOf(err) == tool.Unavailable || tool.KindOf(err) == tool.Internal:
		later = s.opt.Calls.Made(ctx, id) == nil
	}
	return later, err
}
