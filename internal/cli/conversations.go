package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) sessionsCommand() *cobra.Command {
	var limit int
	list := p.leaf("list", "List conversations, the one last touched first", "", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return p.listConversations(ctx, limit) })
	list.Flags().IntVarP(&limit, "limit", "n", 20, "at most so many; 0 for all")
	show := p.leaf("show ID", "Show what was said and done in a conversation", "", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return p.showConversation(ctx, args[0]) })
	var f runFlags
	resume := p.leaf("resume ID", "Take up a conversation where it was left", "  callgate sessions resume t1a2b -p \"and now the tests\"", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return p.resumeConversation(ctx, args[0], f) })
	resume.Flags().StringVarP(&f.prompt, "prompt", "p", "", "what to ask for next")
	resume.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "only the answer")
	var format string
	export := p.leaf("export ID", "Write a conversation to standard output", "  callgate sessions export t1a2b --format markdown > talk.md", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return p.exportConversation(ctx, args[0], format) })
	export.Flags().StringVar(&format, "format", "jsonl", "jsonl (one event on each line), json, or markdown")
	cancel := p.leaf("cancel ID", "Stop the turn that is under way in a conversation", "", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error {
			return p.with(ctx, false, func(k *kernel) error {
				stopped, err := k.CancelTurn(ctx, args[0])
				if err == nil && !stopped {
					p.status("no turn is under way there")
				}
				return err
			})
		})
	compact := p.leaf("compact ID", "Make a conversation shorter for its model; its log keeps everything", "", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return p.compactConversation(ctx, args[0]) })
	forget := p.leaf("delete ID", "Delete a conversation; the journal keeps what was done", "", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error {
			return p.with(ctx, true, func(k *kernel) error { return k.DeleteConversation(ctx, args[0]) })
		})
	return p.group("sessions", "Conversations with agents", "", list, show, resume, export, cancel, compact, forget)
}

func (p *program) listConversations(ctx context.Context, limit int) error {
	return p.with(ctx, false, func(k *kernel) error {
		list, err := k.Conversations(ctx, limit)
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(list)
		}
		if len(list) == 0 {
			p.status(`there are no conversations yet; callgate run -p "…" begins one`)
			return nil
		}
		return p.style(p.Stdout).Conversations(p.Stdout, list)
	})
}

func (p *program) showConversation(ctx context.Context, id string) error {
	return p.with(ctx, false, func(k *kernel) error {
		h, err := k.History(ctx, id)
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(h)
		}
		return p.style(p.Stdout).Conversation(p.Stdout, h)
	})
}

// resumeConversation ends a turn that was broken off, and goes on.
func (p *program) resumeConversation(ctx context.Context, id string, f runFlags) error {
	return p.conversation(ctx, "", id, func(k *kernel, t *client.Conversation) error {
		v := p.view(k, t, f.quiet)
		v.head()
		if t.Info.Turns > 0 && t.Info.Last == "" {
			v.note("the last turn was broken off: it goes on")
			if err := v.run(ctx, t.Resume(ctx)); err != nil {
				return err
			}
			if f.prompt == "" && !p.atTerminal() {
				return nil
			}
		}
		words, one, err := p.initialPrompt(f)
		if err != nil {
			return err
		}
		if one {
			return v.run(ctx, t.Send(ctx, words))
		}
		return p.interactive(ctx, v, t)
	})
}

// compactConversation makes a conversation shorter, and says by how much.
func (p *program) compactConversation(ctx context.Context, id string) error {
	return p.conversation(ctx, "", id, func(_ *kernel, t *client.Conversation) error {
		done, err := t.Compact(ctx)
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(done)
		case done == nil:
			p.status("there is nothing to leave out")
			return nil
		}
		if done.Warning != "" {
			p.status("callgate: %s", done.Warning)
		}
		fmt.Fprintf(p.Stdout, "about %d tokens, from %d: %d messages now stand in a summary, %d results are shown in part\n", done.After, done.Before, done.Dropped, len(done.Shortened))
		return nil
	})
}

func (p *program) exportConversation(ctx context.Context, id, format string) error {
	return p.with(ctx, false, func(k *kernel) error {
		h, err := k.History(ctx, id)
		if err != nil {
			return err
		}
		switch format {
		case "json":
			return p.writeJSON(h)
		case "jsonl":
			enc := json.NewEncoder(p.Stdout)
			for _, e := range h.Log {
				if err := enc.Encode(e); err != nil {
					return err
				}
			}
			return nil
		case "markdown", "md":
			text := markdown(h)
			if _, screen := terminal(p.Stdout); screen {
				text = render.Safe(text)
			}
			_, err := fmt.Fprint(p.Stdout, text)
			return err
		default:
			return tool.Errorf("cli.export", tool.Invalid, "%q is not a format", tool.Truncate(format)).WithHint("use jsonl, json or markdown")
		}
	})
}

// markdown writes a conversation for people to keep.
func markdown(h protocol.History) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s · agent %s · %s\n", cmp.Or(h.Title, h.ID), h.App, h.Agent, h.Created.Format("2006-01-02 15:04"))
	for _, e := range h.Log {
		switch e.Type {
		case protocol.EventUser:
			fmt.Fprintf(&b, "\n## User\n\n%s\n", e.Message.Text())
		case protocol.EventNote:
			fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(e.Message.Text(), "\n", "\n> "))
		case protocol.EventAssistant:
			if text := e.Message.Text(); strings.TrimSpace(text) != "" {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", h.Agent, text)
			}
		case protocol.EventCallMade:
			fmt.Fprintf(&b, "\n- called `%s` with `%s`\n", render.ToolName(e.Call.Name), e.Call.Args)
		case protocol.EventCallEnded:
			fmt.Fprintf(&b, "  - %s: %s\n", e.Result.Status, strings.ReplaceAll(e.Result.Summary, "\n", " "))
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				fmt.Fprintf(&b, "\n*the turn ended early: %s %s*\n", e.End.Reason, e.End.Error)
			}
		}
	}
	return b.String()
}

// appPrompt prints what a model would be told.
func (p *program) appPrompt(ctx context.Context, agent string) error {
	return p.conversation(ctx, agent, "", func(k *kernel, t *client.Conversation) error {
		made, err := t.Prompt(ctx)
		if forget := k.DeleteConversation(context.WithoutCancel(ctx), t.ID); err == nil { // it was opened only to look
			err = forget
		}
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(made)
		}
		fmt.Fprintln(p.Stdout, made.Text)
		s := p.style(p.Stderr)
		fmt.Fprintln(p.Stderr)
		for _, sec := range made.Sections {
			fmt.Fprintf(p.Stderr, "%s\n", s.Faint(fmt.Sprintf("%7d tokens  %s", sec.Tokens, sec.Name)))
		}
		fmt.Fprintln(p.Stderr, s.Faint(fmt.Sprintf("%7d tokens  in all; beside it %d tools, about %d tokens (%s, %s)", made.Tokens, len(made.Offered), made.Shown, t.Mode, toolsBy(t.Native))))
		return nil
	})
}

func toolsBy(native bool) string {
	if native {
		return "given by the provider's API"
	}
	return "written into the text"
}
