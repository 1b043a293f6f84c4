package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"callgate/internal/fence"
	"callgate/internal/gate"
	"callgate/internal/hook"
	"callgate/internal/resulttext"
	"callgate/tool"
)

const (
	maxDepth = 3 // hooks that lead to each other
	// projectDir is the variable that tells a command where the app's folder is.
	projectDir = "CLAUDE_PROJECT_DIR"
	maxTold    = 16 << 10 // bytes of what one hook tells a model
)

// run does what a hook says.
func (o *occurrence) run(ctx context.Context, h *hook.Hook) (effect, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.Timeout,
		tool.Errorf("hook."+h.ID, tool.Timeout, "it did not end within %v", h.Timeout))
	defer cancel()
	a := &h.Action
	switch a.Type {
	case hook.ActionBlock:
		reason, err := hook.Message(a.Text, o.facts)
		return effect{block: true, reason: reason, did: "refused: " + reason}, err
	case hook.ActionLog:
		return o.log(ctx, h)
	case hook.ActionInject:
		text, err := hook.Told(a.Text, o.facts)
		return effect{told: cut(text), did: "told the model: " + cut(text)}, err
	case hook.ActionNotify:
		return o.notify(ctx, h)
	case hook.ActionTransformParams:
		return o.transform(h)
	case hook.ActionTransformResult:
		return effect{}, nil // Shape does it
	case hook.ActionCall, hook.ActionCallInject:
		return o.callTool(ctx, h)
	case hook.ActionShell:
		return o.runShell(ctx, h)
	case hook.ActionCommand:
		return o.runCommand(ctx, h)
	}
	return effect{}, tool.Errorf("hook."+h.ID, tool.Internal, "there is no action %s", a.Type)
}

// cut is as much of a text as one hook may say.
func cut(text string) string { return tool.TruncateTo(strings.TrimSpace(text), maxTold) }

func (o *occurrence) log(ctx context.Context, h *hook.Hook) (effect, error) {
	text, err := hook.Message(h.Action.Text, o.facts)
	if err != nil {
		return effect{}, err
	}
	level := slog.LevelInfo
	switch h.Action.Level {
	case "debug":
		level = slog.LevelDebug
	case "warning":
		level = slog.LevelWarn
	case "error":
		level = slog.LevelError
	}
	o.engine.opt.Log.Log(ctx, level, cut(text), "hook", h.ID, "event", string(h.On), "session", o.id)
	return effect{did: cut(text)}, nil
}

// notify hands a message to a channel, or where there is none tells the user.
func (o *occurrence) notify(ctx context.Context, h *hook.Hook) (effect, error) {
	title, err := hook.Message(h.Action.Title, o.facts)
	if err != nil {
		return effect{}, err
	}
	text, err := hook.Message(h.Action.Text, o.facts)
	if err != nil {
		return effect{}, err
	}
	to := cmp.Or(h.Action.Channel, o.channel)
	said := cut(strings.TrimSpace(title + "\n" + text))
	if to == "" || o.engine.opt.Channels == nil {
		o.Set.notice("hook " + h.ID + ": " + said)
		return effect{did: "told the user: " + said}, nil
	}
	at := o.caller.Place()
	err = o.engine.opt.Channels.Deliver(ctx, Delivery{
		ID: o.actionID(h), Channel: to, Title: cut(title), Text: cut(text), Level: h.Action.Level,
		Principal: o.caller.Principal(), Workspace: at.Workspace, AppFile: at.AppFile,
	})
	return effect{did: "sent to " + to + ": " + said}, err
}

// transform changes the arguments of the call.
func (o *occurrence) transform(h *hook.Hook) (effect, error) {
	made, changed, err := h.Action.TransformParams(o.facts.Tool.Args, o.facts)
	if err != nil || len(changed) == 0 {
		return effect{}, err
	}
	return effect{args: made, names: changed, did: "changed " + strings.Join(changed, ", ")}, nil
}

// callTool makes the call of a hook.
func (o *occurrence) callTool(ctx context.Context, h *hook.Hook) (effect, error) {
	args, err := h.Action.Arguments(o.facts)
	if err != nil {
		return effect{}, err
	}
	result, err := o.callGate(ctx, h, h.Action.Tool, args)
	if err != nil {
		return effect{}, err
	}
	out := effect{did: "called " + h.Action.Tool + " (" + result.Call + ")"}
	if h.Action.Type == hook.ActionCallInject {
		out.told = data(result)
	}
	return out, nil
}

// data is what a result says, as data: whoever wrote it, it was not the kernel.
func data(r *tool.Result) string {
	var b strings.Builder
	for _, c := range resulttext.Body(r, nil) {
		b.WriteString(c.Text + "\n")
	}
	text := cut(b.String())
	if text == "" {
		return ""
	}
	return fence.Follows + fence.Data(text)
}

// callGate makes a call as the kernel itself, which meets the other hooks. One that was
// made already, before a crash, is not made again.
func (o *occurrence) callGate(
	ctx context.Context, h *hook.Hook, name string, args json.RawMessage,
) (*tool.Result, error) {
	op := "hook." + h.ID
	if len(o.chain) >= maxDepth {
		return nil, tool.Errorf(op, tool.Limited, "hooks lead to hooks here, %d deep: %s",
			maxDepth, strings.Join(o.chain, ", "))
	}
	id := o.actionID(h)
	switch outcome, result, err := o.engine.opt.Gate.Outcome(ctx, id); {
	case err != nil:
		return nil, err
	case outcome == gate.Ended:
		return result, result.Err()
	case outcome != gate.NotStarted:
		return nil, tool.Errorf(op, tool.InDoubt, "its call of %s was cut off before, and is not made again", name)
	}
	chain := append(append([]string(nil), o.chain...), h.Key())
	caller := o.caller.AsDaemon().WithHooks(around{o.Set, chain})
	result := o.engine.opt.Gate.Call(ctx, caller, gate.CallRequest{ID: id, Name: name, Args: args, Parent: o.call})
	if err := result.Err(); err != nil {
		if cause := context.Cause(ctx); ctx.Err() != nil && tool.KindOf(cause) == tool.Timeout {
			return nil, cause
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}

// actionID names what a hook does about an event: of a call, the same after a crash.
func (o *occurrence) actionID(h *hook.Hook) string {
	if o.call == "" {
		return gate.NewID()
	}
	return o.call + "." + string(h.On) + "." + h.Key()
}

// runShell runs a command as a call of the shell module.
func (o *occurrence) runShell(ctx context.Context, h *hook.Hook) (effect, error) {
	if err := o.checkScripts(h); err != nil {
		return effect{}, err
	}
	values, err := h.Action.Command.Environ(o.facts.Values())
	if err != nil {
		return effect{}, err
	}
	var b strings.Builder
	for _, pair := range values {
		name, value, _ := strings.Cut(pair, "=")
		b.WriteString("export " + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'\n")
	}
	if strings.Contains(h.Action.Command.Line, projectDir) { // the scripts were found with this folder
		folder := cmp.Or(o.folder, o.caller.Place().Workspace)
		b.WriteString("export " + projectDir + "='" + strings.ReplaceAll(folder, "'", `'\''`) + "'\n")
	}
	b.WriteString(h.Action.Command.Line)
	args, err := json.Marshal(map[string]any{
		"command": b.String(), "description": "the hook " + h.ID,
		"timeout": min(max(int(math.Ceil(h.Timeout.Seconds())), 1), int((30 * time.Minute).Seconds())),
	})
	if err != nil {
		return effect{}, err
	}
	result, err := o.callGate(ctx, h, "shell.bash", args)
	if err != nil {
		return effect{}, err
	}
	out := effect{did: "ran its command (" + result.Call + ")"}
	if h.Action.Inject {
		out.told = data(&tool.Result{Status: result.Status, Content: result.Content})
	}
	return out, nil
}
