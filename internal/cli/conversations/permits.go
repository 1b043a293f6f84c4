package conversations

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// permits are the flags that say what a conversation may do without asking.
type permits struct {
	mode  string
	app   string // the mode of the app
	allow []string
	turn  bool // the command takes turns, in which a human may be needed
	wait  bool // for a human elsewhere, where there is none here
}

// bind gives a command the flags.
func (p *permits) bind(e *command.Env, c *cobra.Command) {
	c.Flags().StringVar(&p.mode, "mode", "",
		"the permission `MODE`: ask, accept-edits (changes of files here are not asked about), plan (nothing is changed)")
	c.Flags().StringVar(&p.app, "app-mode", "",
		"work in this `MODE` of the app (runtime.modes in its file), from here on; not the permission mode")
	c.Flags().StringArrayVar(&p.allow, "allow", nil,
		"let calls run unasked in this conversation: a `TOOL: PATTERN` such as 'shell: go test *'; may be repeated")
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(
		[]string{string(protocol.ModeAsk), string(protocol.ModeAcceptEdits), string(protocol.ModePlan)},
		cobra.ShellCompDirectiveNoFileComp))
	e.BindToken(c)
}

// bindWait gives a command the flag for where nobody is at a terminal.
func (p *permits) bindWait(c *cobra.Command) {
	p.turn = true
	c.Flags().BoolVar(&p.wait, "wait", false,
		"without a terminal here, wait for a human who answers elsewhere: see callgate approvals")
}

// loosens reports whether the flags let a conversation do more, which a human must say.
func (p *permits) loosens() bool {
	return p.mode == string(protocol.ModeAcceptEdits) || len(p.allow) > 0 || p.app != ""
}

// set gives a conversation what the flags say. Where no human sits, and none is waited
// for, what needs one is refused.
func (p *permits) set(ctx context.Context, k *command.Kernel, c *client.Conversation, unattended bool) error {
	err := p.setMode(ctx, c, unattended && p.turn && !p.wait)
	if err == nil && p.app != "" {
		c.Conversation, err = c.SetAppMode(ctx, protocol.SetAppMode{Mode: p.app})
	}
	if err != nil && c.Info.Turns == 0 { // it was opened in vain
		_ = k.DeleteConversation(context.WithoutCancel(ctx), c.ID)
	}
	return err
}

// setMode sets the permission mode, and what is allowed beside it.
func (p *permits) setMode(ctx context.Context, c *client.Conversation, unattended bool) error {
	if p.mode == "" && len(p.allow) == 0 && !unattended {
		return nil
	}
	now, err := c.SetPermissions(ctx, protocol.SetPermissions{
		Mode: protocol.PermissionMode(p.mode), Allow: p.allow, Unattended: &unattended,
	})
	if err == nil {
		c.Permissions = now
	}
	return err
}

// sayRefused says that a call needed a human whom nobody could ask, and what would let
// it run.
func (p *turnPrinter) sayRefused(r protocol.Approval) {
	p.refused++
	const text = "callgate: %s was not run: it needs a human, and there is no terminal here: %s"
	p.Status(text, r.Call.Tool.Dotted(), r.Reason)
	var flags []string
	if r.Call.Tool.Namespace == "filesystem" && r.Risk != tool.High {
		flags = append(flags, "--mode accept-edits")
	}
	var allow []string
	for _, entry := range allowEntries(r) {
		allow = append(allow, "--allow "+argv.ShellQuote(entry))
	}
	if len(allow) > 0 { // a line of several commands needs one for each
		flags = append(flags, strings.Join(allow, " "))
	}
	if len(flags) > 0 {
		p.Status("  allow it  %s", strings.Join(flags, ", or "))
	}
	p.Status("  or wait   --wait, and a human answers with %s approvals", p.Self())
}

// allowEntries are the values of --allow that would let a call run; none if only a
// human can.
func allowEntries(r protocol.Approval) (entries []string) {
	var form map[string]any
	if r.Session == nil || r.Session.Exact || json.Unmarshal(r.Session.Match, &form) != nil || len(form) > 1 {
		return nil
	}
	name := r.Call.Tool.Dotted()
	if len(form) == 0 {
		return []string{name}
	}
	for param, condition := range form {
		for _, text := range stringList(condition) {
			if param != "command" && param != "path" {
				text = param + ": " + text
			}
			entries = append(entries, name+": "+text)
		}
	}
	return entries
}

func stringList(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			list = append(list, stringList(one)...)
		}
	}
	return list
}
