package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"

	"callgate/internal/cli/dialog"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// turnPrinter shows the turns of a conversation as they happen: the agent's words on
// standard output, what it does on standard error.
type turnPrinter struct {
	*program
	kernel *kernel
	talk   *client.Conversation
	quiet  bool
	style  render.Style
	inLine bool // the answer's last line has not ended
	said   bool // the model has said something in this turn

	mu   sync.Mutex
	open map[string]context.CancelFunc // questions that are being asked here, by call
}

func (p *program) view(k *kernel, t *client.Conversation, quiet bool) *turnPrinter {
	return &turnPrinter{program: p, kernel: k, talk: t, quiet: quiet || p.json, style: p.style(p.Stderr), open: map[string]context.CancelFunc{}}
}

// head says who answers.
func (v *turnPrinter) head() {
	if v.quiet {
		return
	}
	t := v.talk
	who := t.Provider + "/" + t.Model
	if t.Offline {
		who = "the offline brain (no language model: it finds tools by your words)"
	}
	v.note("%s · %s · %d tools, %s · %s", t.Agent, who, t.Tools, t.Mode, t.ID)
}

// note writes a line about what happens.
func (v *turnPrinter) note(format string, args ...any) {
	v.endLine()
	fmt.Fprintln(v.Stderr, v.style.Faint(render.Safe(fmt.Sprintf(format, args...))))
}

// ask shows that the next line is awaited.
func (v *turnPrinter) ask() {
	v.endLine()
	fmt.Fprint(v.Stderr, v.style.Strong("> "))
}

func (v *turnPrinter) endLine() {
	if v.inLine {
		fmt.Fprintln(v.Stdout)
		v.inLine = false
	}
}

// run shows one turn to its end.
func (v *turnPrinter) run(ctx context.Context, turn iter.Seq2[protocol.TurnEvent, error]) error {
	type item struct {
		moment protocol.TurnEvent
		err    error
	}
	v.said = false
	items := make(chan item, 64)
	go func() {
		defer close(items)
		for m, err := range turn {
			v.closeDialog(m)
			items <- item{m, err}
		}
	}()
	var failed error
	code := 0
	for it := range items { // to the end, so that nobody is left writing
		switch {
		case it.err != nil:
			failed = it.err
		case v.json:
			if err := json.NewEncoder(v.Stdout).Encode(it.moment); err != nil && failed == nil {
				failed = err
			}
		default:
			v.show(ctx, it.moment)
		}
		if it.moment.End != nil {
			code = codeOfTurn(it.moment.End.Reason)
		}
	}
	v.endLine()
	if failed != nil && ctx.Err() == nil {
		return failed
	}
	if ctx.Err() != nil && code == 0 {
		code = exitCancelled
	}
	return ended(code)
}

// closeDialog ends the question about a call that has ended meanwhile.
func (v *turnPrinter) closeDialog(m protocol.TurnEvent) {
	if m.Result == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if cancel := v.open[m.Result.Call.ID]; cancel != nil {
		cancel()
	}
}

func (v *turnPrinter) show(ctx context.Context, m protocol.TurnEvent) {
	switch {
	case m.Delta != nil && m.Delta.Kind == llm.DeltaText && m.Delta.Text != "":
		text := render.Safe(m.Delta.Text)
		fmt.Fprint(v.Stdout, text)
		v.said = true
		v.inLine = !strings.HasSuffix(text, "\n")
	case m.Approval != nil:
		v.answer(ctx, *m.Approval)
	case m.Notice != "":
		v.note("%s", m.Notice)
	case m.End != nil:
		v.ended(m.End)
	case v.quiet:
	case m.Call != nil:
		v.note("→ %s %s", render.ToolName(m.Call.Name), clipArgs(m.Call.Args))
	case m.Output != nil:
		v.note("%s", strings.TrimRight("  │ "+strings.ReplaceAll(string(m.Output.Text), "\n", "\n  │ "), "\n │"))
	case m.Result != nil:
		v.result(m.Result)
	}
}

func clipArgs(args json.RawMessage) string {
	if string(args) == "{}" {
		return ""
	}
	return tool.TruncateTo(string(args), 160)
}

func (v *turnPrinter) result(end *protocol.CallEnd) {
	r := end.Result
	switch r.Status {
	case tool.Success:
		v.note("✓ %s", tool.TruncateTo(r.Summary, 200))
	case tool.Waiting:
		v.note("… %s", r.Summary)
	default:
		v.note("✗ %s", tool.TruncateTo(r.Summary, 400))
	}
}

func (v *turnPrinter) ended(end *protocol.TurnEnd) {
	v.endLine()
	switch end.Reason {
	case protocol.EndDone:
		if !v.said {
			v.status("(the model said nothing)")
		}
	case protocol.EndCancelled:
		v.status("stopped; callgate sessions resume %s goes on", v.talk.ID)
	default:
		v.status("callgate: the turn ended early (%s): %s", end.Reason, end.Error)
	}
	if v.quiet {
		return
	}
	u := end.Info.Usage
	line := fmt.Sprintf("%d calls · %d tokens in, %d out", end.Info.ToolCalls, u.Input, u.Output)
	if u.Priced && u.Cost > 0 {
		line += fmt.Sprintf(" · $%.4f", float64(u.Cost)/1e6)
	}
	v.note("%s", line)
}

// answer has a call approved or not: here, when a person sits here.
func (v *turnPrinter) answer(ctx context.Context, r protocol.Approval) {
	v.endLine()
	if !v.talk.Human {
		v.status("callgate: %s waits for a human: %s", r.Call.Tool.Dotted(), r.Reason)
		v.howToAnswer(r.ID)
		return
	}
	open, answered := context.WithCancel(ctx)
	defer answered()
	v.mu.Lock()
	v.open[r.Call.ID] = answered
	v.mu.Unlock()
	d := dialog.Dialog{
		In: v.Stdin, Out: v.Stderr, Style: v.style, By: v.userName(),
		Edit: func(text []byte) ([]byte, error) { return v.editor().Edit(ctx, text) },
		Answer: func(a protocol.Answer) error {
			_, err := v.kernel.Answer(ctx, r.ID, a)
			return err
		},
	}
	left, err := d.Run(open, r)
	switch {
	case left:
		v.status("left waiting; callgate approvals approve %s lets it go on", r.ID)
	case err == nil || ctx.Err() != nil:
	case open.Err() != nil:
		v.status("\nanswered elsewhere")
	default:
		v.status("callgate: %s", err)
		v.howToAnswer(r.ID)
	}
}
