package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	apphooks "callgate/internal/app/hooks"
	"callgate/internal/fence"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/hook"
	"callgate/internal/module/shell"
	"callgate/tool"
)

// The bytes of what a command prints that are read.
const (
	maxStdout = 256 << 10
	maxStderr = 64 << 10
)

// head keeps the beginning of what is written to it.
type head struct {
	bytes.Buffer
	most int
}

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), h.most-h.Len())])
	return len(p), nil
}

// harmless marks a failure that blocks nothing by itself: see isHarmless.
type harmless struct{ error }

func (h harmless) Unwrap() error { return h.error }

// isHarmless reports whether a failure of a guard is none: a command of Claude Code's form
// that exits with an odd code objects to nothing, unless its hook says otherwise.
func isHarmless(h *hook.Hook, err error) bool {
	var odd harmless
	return errors.As(err, &odd) && h.OnError != hook.Block
}

// runCommand runs a command of Claude Code's form, and reads its decision.
func (o *occurrence) runCommand(ctx context.Context, h *hook.Hook) (effect, error) {
	if err := o.checkScripts(h); err != nil {
		return effect{}, err
	}
	if err := o.mayRun(ctx); err != nil {
		return effect{}, err
	}
	at := o.caller.Place()
	for _, folder := range at.Kernel {
		if err := folder.Check(); err != nil {
			return effect{}, err
		}
	}
	in, err := hook.ClaudeInput(o.facts, at.Workspace, o.stops)
	if err != nil {
		return effect{}, err
	}
	env, err := h.Action.Command.Environ(o.facts.Values())
	if err != nil {
		return effect{}, err
	}
	stdout, stderr := &head{most: maxStdout}, &head{most: maxStderr}
	stdin, err := newInput(in)
	if err != nil {
		return effect{}, err
	}
	defer stdin.close()
	line := shell.Line{
		Command: h.Action.Command.Line, Stdin: stdin.read, Stdout: stdout, Stderr: stderr,
		Env: append(env, projectDir+"="+cmp.Or(o.folder, at.Workspace), "CALLGATE_HOOK="+h.ID,
			"CALLGATE_SESSION="+o.id),
	}
	for _, s := range h.Scripts {
		if s.Digest != "" {
			line.Readable = append(line.Readable, s.Path)
		}
	}
	if h.GuardsCalls() {
		if err := o.startElsewhere(h, &line); err != nil {
			return effect{}, err
		}
	}
	exit, err := o.engine.opt.Shell.Run(ctx, tool.Grant{
		Workspace: at.Workspace, Root: at.Root, Relaxed: at.Relaxed, Settings: o.shell,
		ReadOnlyPaths: rulefiles.Set{Workspace: at.Workspace, Files: at.RuleFiles}.ReadOnly(nil),
	}, line)
	switch {
	case err != nil:
		return effect{}, err
	case ctx.Err() != nil:
		return effect{}, context.Cause(ctx)
	case exit.Limit != "":
		return effect{}, tool.Errorf("hook."+h.ID, tool.Failed, "its command took too much: %s", exit.Limit)
	case exit.Signal != "":
		return effect{}, tool.Errorf("hook."+h.ID, tool.Failed, "its command was ended by the signal %s", exit.Signal)
	}
	unread := stdin.close()
	d, err := hook.ParseDecision(h.On, exit.Code, stdout.Bytes(), stderr.Bytes())
	if h.GuardsCalls() && h.FailsClosed() && !d.Block && !d.Ask {
		if err := o.lookedAway(h, exit.Code, unread); err != nil {
			return effect{}, err
		}
	}
	if err != nil && exit.Code != hook.ExitOK {
		err = harmless{err}
	}
	if d.Notice != "" {
		o.notice("hook " + h.ID + ": " + cut(d.Notice))
	}
	out := decided(d)
	if d.Input != nil {
		out.names = differing(o.facts.Tool.Args, d.Input)
	}
	return out, err
}

// differing names the arguments that a command gave another value. Those that it left out
// have their defaults, as in a call that leaves them out.
func differing(before, after json.RawMessage) (names []string) {
	var a, b map[string]json.RawMessage
	_ = json.Unmarshal(before, &a) // they are objects, or the schema refuses them
	_ = json.Unmarshal(after, &b)
	for name, value := range b {
		if string(value) != string(a[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// decided is what a decision wants done.
func decided(d hook.Decision) effect {
	out := effect{
		block: d.Block, ask: d.Ask, reason: fence.Marks(cut(d.Reason)), told: fence.Marks(cut(d.Context)),
		args: d.Input, did: "said nothing",
	}
	switch {
	case d.Block:
		out.did = "refused: " + out.reason
	case d.Ask:
		out.did = "wants a human to decide: " + out.reason
	case out.args != nil:
		out.did = "changed the arguments"
	case out.told != "":
		out.did = "told the model: " + out.told
	}
	return out
}

// checkScripts reports a script that is another one than was accepted.
func (o *occurrence) checkScripts(h *hook.Hook) error {
	for _, s := range h.Scripts {
		if apphooks.Changed(s) {
			return tool.Errorf("hook."+h.ID, tool.Denied, "its script %s has changed since it was accepted", s.Path).
				WithHint("have the user look at it, and accept it: callgate app trust")
		}
	}
	return nil
}

// mayRun reports that the rules let no command run here.
func (o *occurrence) mayRun(ctx context.Context) error {
	snap, err := o.engine.opt.Tools.Snapshot(ctx)
	if err != nil {
		return err
	}
	bash, ok := snap.View(o.scope).Latest(shell.Namespace + ".bash")
	if !ok {
		return nil
	}
	if d := o.caller.AsDaemon().Decide(bash); d.Verdict == policy.Deny {
		return tool.Errorf("hook.command", tool.Denied, "commands are not allowed here: %s", d.Reason)
	}
	return nil
}
