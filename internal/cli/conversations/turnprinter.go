package conversations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible/arguments"
	"callgate/llm"
	"callgate/tool"
)

// turnPrinter shows the turns of a conversation as they happen: the agent's
// answer on standard output, what it does on standard error.
type turnPrinter struct {
	*command.Env
	kernel       *command.Kernel
	conversation *client.Conversation
	quiet        bool
	style        render.Style
	inLine       bool            // the answer's last line has not ended
	answered     bool            // the model has written something in this turn
	pieces       int             // of the answer that it writes
	last         strings.Builder // quiet: the answer since the last call
	output       outputLines
	refused      int // calls that needed a human whom nobody could ask

	mu   sync.Mutex
	open map[string]context.CancelFunc // ends the question about a call
	// settled are the approvals that were answered: one that waits in line is not asked.
	settled map[string]bool

	unwritten error // why a part of the answer could not be written
}

func newTurnPrinter(e *command.Env, k *command.Kernel, c *client.Conversation, quiet bool) *turnPrinter {
	return &turnPrinter{
		Env: e, kernel: k, conversation: c, quiet: quiet || e.JSON,
		style: e.Style(e.Stderr), open: map[string]context.CancelFunc{}, settled: map[string]bool{},
		output: outputLines{bounded: isTerminal(e.Stderr)},
	}
}

// head says who answers.
func (p *turnPrinter) head() {
	if p.quiet {
		return
	}
	c := p.conversation
	who := c.Provider + "/" + c.Model
	if c.Offline {
		who = "the offline brain (no language model: it finds tools by your words)"
	}
	p.note("%s · %s · %s, %s · %s", c.Agent, who, amount.Of(c.Tools, "tool"), c.Mode, c.ID)
	if len(c.AppFiles) > 0 {
		p.note("app: %s", strings.Join(c.AppFiles, ", "))
	}
}

// note writes a line about what happens.
func (p *turnPrinter) note(format string, args ...any) {
	p.endLine()
	fmt.Fprintln(p.Stderr, p.style.Faint(text.Safe(fmt.Sprintf(format, args...))))
}

// ask shows that the next line is awaited.
func (p *turnPrinter) ask() {
	p.endLine()
	fmt.Fprint(p.Stderr, p.style.Strong("> "))
}

func (p *turnPrinter) endLine() {
	if p.inLine {
		p.write("\n")
		p.inLine = false
	}
}

// write writes a part of the answer. One that is not written was not given.
func (p *turnPrinter) write(words string) {
	if _, err := io.WriteString(p.Stdout, words); err != nil && p.unwritten == nil {
		p.unwritten = err
	}
}

// run shows one turn to its end.
func (p *turnPrinter) run(ctx context.Context, turn iter.Seq2[protocol.TurnEvent, error]) error {
	type item struct {
		event protocol.TurnEvent
		err   error
	}
	p.answered, p.refused, p.pieces = false, 0, 0
	p.last.Reset()
	items := make(chan item, 64)
	go func() {
		defer close(items)
		for event, err := range turn {
			p.closeDialog(event)
			items <- item{event, err}
		}
	}()
	var failed error
	code, ended, did := 0, false, false
	for it := range items { // to the end, so that the goroutine ends too
		switch {
		case it.err != nil:
			failed = it.err
		case p.JSON:
			if err := p.WriteJSONLine(it.event); err != nil && failed == nil {
				failed = err
			}
			p.sayPending(it.event) // somebody must know, also where a program reads the events
		default:
			p.show(ctx, it.event)
		}
		if did = did || says(it.event); it.event.End != nil {
			code, ended = codeOfTurn(it.event.End.Reason), true
		}
	}
	p.endLine()
	if answer := strings.TrimSpace(p.last.String()); answer != "" {
		p.write(answer + "\n")
	}
	switch {
	case failed != nil:
	case p.unwritten != nil:
		failed = command.WriteError(p.unwritten)
	case !ended:
		failed = tool.Errorf("cli.run", tool.Unavailable, "how the turn ended is not known")
	case code == 0 && !did: // neither a word nor a call
		code = command.ExitFailed
	}
	if failed != nil && ctx.Err() == nil {
		return p.withCommand(failed)
	}
	if p.refused > 0 && code == 0 {
		code = command.ExitNeedsHuman
	}
	if ctx.Err() != nil && code == 0 {
		code = command.ExitCancelled
	}
	return command.Exit(code)
}

// says reports whether an event tells of words or of a call of the model.
func says(e protocol.TurnEvent) bool {
	return e.Call != nil || e.Delta != nil && e.Delta.Kind == llm.DeltaText && e.Delta.Text != "" ||
		e.Event != nil && e.Event.Message != nil && e.Event.Message.Role == llm.Assistant &&
			(e.Event.Message.Text() != "" || len(e.Event.Message.Calls()) > 0)
}

// codeOfTurn is the exit code for the end of a turn.
func codeOfTurn(r protocol.EndReason) int {
	switch r {
	case protocol.EndDone:
		return 0
	case protocol.EndCancelled:
		return command.ExitCancelled
	case protocol.EndTimedOut:
		return command.ExitBusy
	case protocol.EndInterrupted:
		return command.ExitUnavailable
	case protocol.EndRefused:
		return command.ExitDenied
	case protocol.EndStuck, protocol.EndMaxTurns:
		return command.ExitStuck
	case protocol.EndCut:
		return command.ExitCut
	case protocol.EndCost:
		return command.ExitCost
	default:
		return command.ExitFailed
	}
}

// closeDialog ends the question about a call that has ended meanwhile.
func (p *turnPrinter) closeDialog(e protocol.TurnEvent) {
	var call string
	switch {
	case e.Result != nil:
		call = e.Result.Call.ID
	case e.Answered != nil:
		call = e.Answered.Call.ID
	case e.Question != nil && e.Question.State != protocol.QuestionPending:
		call = e.Question.Call
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Answered != nil {
		p.settled[e.Answered.ID] = true
	}
	if e.Question != nil {
		p.settled[e.Question.ID] = true
	}
	if cancel := p.open[call]; cancel != nil {
		cancel()
	}
}

func (p *turnPrinter) show(ctx context.Context, e protocol.TurnEvent) {
	switch {
	case e.Delta != nil && e.Delta.Kind == llm.DeltaText && e.Delta.Text != "":
		p.answer(text.Safe(e.Delta.Text))
	case e.Approval != nil:
		p.askHuman(ctx, *e.Approval)
	case e.Question != nil:
		p.askQuestion(ctx, *e.Question)
	case e.Notice != "":
		if e.Notice == client.GoesOn { // the answer that was cut off is written anew
			p.pieces = 0
			p.last.Reset()
		}
		p.note("%s", e.Notice)
	case e.Wait != nil:
		if e.Wait.Replaces {
			p.last.Reset()
		}
		p.note("%s", protocol.WaitText(*e.Wait, time.Now()))
	case e.Event != nil && e.Event.Cut.Text() != "":
		p.note("(%s)", e.Event.Cut.Text())
	case e.Event != nil && e.Event.Type == protocol.EventAssistant:
		p.whole(e.Event.Message.Text())
	case e.End != nil:
		p.ended(e.End)
	case p.quiet:
		if e.Call != nil {
			p.last.Reset() // words before a call are no answer
		}
	case e.Event != nil && e.Event.Type == protocol.EventNote && e.Event.Task != "":
		line, _ := protocol.NoteText(*e.Event)
		p.note("%s", line)
	case e.Call != nil:
		p.note("→ %s", strings.TrimSpace(render.ToolName(e.Call.Name)+" "+arguments.Brief(e.Call.Args, maxArgs)))
	case e.Output != nil:
		if lines := p.output.take(e.Output.Call, e.Output.Display()); lines != "" {
			p.note("%s", strings.TrimRight("  │ "+strings.ReplaceAll(lines, "\n", "\n  │ "), "\n │"))
		}
	case e.Script != nil && e.Script.Status != "":
		p.scriptCall(e.Script)
	case e.Result != nil:
		p.result(e.Result)
	}
}

// scriptCall shows how a call of a script ended.
func (p *turnPrinter) scriptCall(c *protocol.ScriptCall) {
	mark, rest := "✓", c.Args
	if c.Status != tool.Success {
		mark, rest = "✗", c.Summary
	}
	p.note("  │ %s line %d: %s", mark, c.Line,
		strings.TrimSpace(render.ToolName(c.Name)+" "+tool.TruncateTo(text.OneLine(rest), maxArgs)))
}

// answer shows a piece of the answer; quiet, it is kept until the end of the turn,
// because only the last answer is wanted.
func (p *turnPrinter) answer(piece string) {
	p.answered = true
	p.pieces++
	if p.quiet {
		p.last.WriteString(piece)
		return
	}
	p.write(piece)
	p.inLine = !strings.HasSuffix(piece, "\n")
}

// whole takes the words of an answer that has ended. Those of which no piece came,
// because the kernel went away meanwhile, are shown now.
func (p *turnPrinter) whole(words string) {
	if p.pieces == 0 && words != "" {
		p.answer(text.Safe(words))
	}
	p.pieces = 0
}

// maxArgs is how many characters of the arguments of a call are shown.
const maxArgs = 160

func (p *turnPrinter) result(end *protocol.CallEnd) {
	r, name := end.Result, render.ToolName(end.Call.Name)
	if hidden := p.output.ended(end.Call.ID); hidden > 0 {
		p.note("  │ … %s; %s log show %s has them", more(hidden, "line"), p.Self(), end.Call.ID)
	}
	switch r.Status {
	case tool.Success:
		p.note("✓ %s: %s", name, tool.TruncateTo(r.Summary, 200))
	case tool.Waiting:
		p.note("… %s: %s", name, r.Summary)
	default:
		p.note("✗ %s: %s", name, tool.TruncateTo(r.Summary, 400))
	}
}

func (p *turnPrinter) ended(end *protocol.TurnEnd) {
	p.endLine()
	switch end.Reason {
	case protocol.EndDone:
		if !p.answered {
			p.Status("(the model gave no answer)")
		}
	case protocol.EndCancelled:
		p.Status("stopped; continue with: %s", p.goOn(`-p "…"`))
	case protocol.EndInterrupted:
		p.Status("callgate: the turn was interrupted: %s; what happened so far is kept", end.Error)
		p.Status("  go on     %s", p.goOn(""))
	default:
		p.Status("callgate: the turn ended early (%s): %s", end.Reason, end.Error)
		p.Status("  go on     %s", p.goOn(`-p "…"`))
	}
	if p.quiet {
		return
	}
	u := end.Info.Usage
	line := fmt.Sprintf("%s · %d tokens in, %d out", amount.Of(end.Info.ToolCalls, "call"), u.Input, u.Output)
	if u.Priced && u.Cost > 0 {
		line += fmt.Sprintf(" · $%.4f", float64(u.Cost)/1e6)
	}
	p.note("%s", line)
}

// goOn is the command that goes on with the conversation. Without a terminal it
// needs what words name: where nothing is left to finish, the next prompt.
func (p *turnPrinter) goOn(words string) string {
	line := p.Self() + " sessions resume " + p.conversation.ID
	if words != "" && !p.AtTerminal() {
		line += " " + words
	}
	return line
}

// withCommand gives the error of a turn whose kernel went away the command that
// goes on with it.
func (p *turnPrinter) withCommand(err error) error {
	var e *tool.Error
	if kind := tool.KindOf(err); kind != tool.InDoubt && kind != tool.Unavailable || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Hint = "go on where it was: " + p.goOn("")
	return &told
}

// sayWaiting says what waits for a human, until when, and how it is answered.
func (p *turnPrinter) sayWaiting(r protocol.Approval) {
	if p.conversation.Permissions.Unattended {
		p.sayRefused(r)
		return
	}
	p.Status("callgate: %s waits for a human, for %s at most: %s",
		r.Call.Tool.Dotted(), r.Deadline.Sub(r.AskedAt).Round(time.Second), r.Reason)
	p.HowToAnswer(r.ID)
}

// askHuman has a call approved or denied: here, when a person sits here.
func (p *turnPrinter) askHuman(ctx context.Context, r protocol.Approval) {
	p.endLine()
	if !p.conversation.Human {
		p.sayWaiting(r)
		return
	}
	open, answered := context.WithCancel(ctx)
	defer answered()
	p.mu.Lock()
	p.open[r.Call.ID] = answered
	isSettled := p.settled[r.ID]
	p.mu.Unlock()
	if isSettled {
		return
	}
	left, err := p.Dialog(ctx, p.kernel, r.ID, r.Call.Principal.Session).Run(open, r)
	switch {
	case left:
		p.Status("left waiting; approve it with: %s approvals approve %s", p.Self(), r.ID)
	case err == nil || ctx.Err() != nil:
	case open.Err() != nil:
		p.Status("\nanswered elsewhere")
	default:
		p.Status("callgate: %s", err)
		p.HowToAnswer(r.ID)
	}
}
