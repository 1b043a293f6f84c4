// Package dialog asks the person at a terminal about an approval, and opens
// their editor on the arguments of a call.
package dialog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

// Dialog asks one person about one approval. An answer is a line, so that a
// stray key approves nothing. What was typed before the question is discarded.
type Dialog struct {
	In    io.Reader
	Out   io.Writer
	Style render.Style
	By    string // who answers, for the journal
	// Edit lets the person change a text, and returns the new text.
	Edit func(text []byte) ([]byte, error)
	// Answer answers the approval. An Invalid answer is explained, and asked for
	// again.
	Answer func(protocol.Answer) error
	// Others returns the other approvals that wait in the same session, in the order
	// asked, and AnswerOther answers one of them. Nil: there are none.
	Others      func() []protocol.Approval
	AnswerOther func(id string, a protocol.Answer) error

	lines lines
	draft []byte // the arguments as last edited
}

const choices = "[a]pprove  [d]eny  [e]dit  [q]uit: leave it waiting >"

const askReason = "the reason, for the caller (may be empty) > "

// sessionHint stands before what a yes for the rest of the session covers.
const sessionHint = "[s]ession: approve, and allow %s in this conversation\n"

// lastingHint stands above the choices of a yes that lasts.
const lastingHint = "or approve it from now on, by its number (2), or until a date (2 30d):"

// errEnded says that there is no more input.
var errEnded = errors.New("the input has ended")

// Run asks until the approval is answered here, or ctx ends because it was
// answered elsewhere; left says that the person left it waiting.
func (d *Dialog) Run(ctx context.Context, r protocol.Approval) (left bool, err error) {
	fmt.Fprintln(d.Out, d.Style.Strong("A human must decide:"))
	if err := d.Style.Question(d.Out, r); err != nil {
		return false, err
	}
	if f, ok := d.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		dropTyped(int(f.Fd()))
	}
	d.lines = lines{in: bufio.NewReader(d.In), got: make(chan line, 1)}
	d.draft = []byte(text.JSON(r.Call.Args) + "\n")
	d.writeLasting(r)
	for {
		fmt.Fprint(d.Out, d.Style.Strong(choices), " ")
		word, err := d.lines.next(ctx)
		if errors.Is(err, errEnded) {
			fmt.Fprintln(d.Out)
			return true, nil
		}
		if err != nil {
			return false, err
		}
		a, err := d.read(ctx, r, word)
		switch {
		case errors.Is(err, errLeave):
			return true, nil
		case err == nil && a == nil:
			continue
		case err == nil:
			err = d.Answer(*a)
		}
		if kind := tool.KindOf(err); kind != tool.Invalid && kind != tool.Failed {
			return false, err
		}
		fmt.Fprintln(d.Out, d.Style.Bad(text.Safe(err.Error())))
	}
}

// writeLasting lists the ways in which a yes may last.
func (d *Dialog) writeLasting(r protocol.Approval) {
	if len(r.Choices) > 0 {
		fmt.Fprintln(d.Out, lastingHint)
	}
	for i, choice := range r.Choices {
		fmt.Fprintf(d.Out, "  %d  %s\n", i+1, visible.Text(choice.Text))
	}
	if d.Others != nil {
		if n := len(d.Others()); n > 0 {
			fmt.Fprintf(d.Out, "[all]: see the %d others that wait, and answer all at once\n", n)
		}
	}
	if s := r.Script; s != nil {
		if s.Offer != nil {
			fmt.Fprintf(d.Out, "[script]: approve, and allow %s for the rest of this script\n", visible.Text(s.Offer.Text))
		}
		fmt.Fprintln(d.Out, "[stop]: deny, and end the script")
	}
	if r.Session != nil {
		fmt.Fprintf(d.Out, sessionHint, visible.Text(r.Session.Text))
	}
}

// errLeave says that the person leaves the request waiting.
var errLeave = errors.New("left waiting")

// read makes an answer of a word; nil for any other word.
func (d *Dialog) read(ctx context.Context, r protocol.Approval, word string) (*protocol.Answer, error) {
	a := &protocol.Answer{By: d.By}
	if remember, ok, err := r.ParseRemember(word, time.Now()); ok {
		a.Approve, a.Remember = true, remember
		return a, err
	}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "a", "approve", "y", "yes":
		a.Approve = true
	case "s", "session":
		if r.Session == nil {
			fmt.Fprintln(d.Out, "a yes to this is for once: it is asked for each time")
			return nil, nil
		}
		a.Approve, a.Always = true, true
	case "script":
		if r.Script == nil || r.Script.Offer == nil {
			fmt.Fprintln(d.Out, "a yes to this is for once: it is asked for each time")
			return nil, nil
		}
		a.Approve, a.Script = true, true
	case "stop":
		if r.Script == nil {
			fmt.Fprintln(d.Out, "this is not a call of a script: d denies it")
			return nil, nil
		}
		a.Script = true
	case "d", "deny", "n", "no":
		fmt.Fprint(d.Out, askReason)
		var err error
		if a.Feedback, err = d.lines.next(ctx); err != nil && !errors.Is(err, errEnded) {
			return nil, err
		}
	case "all":
		return d.all(ctx, a)
	case "e", "edit":
		return d.edit(a)
	case "q", "quit":
		return nil, errLeave
	default:
		return nil, nil
	}
	return a, nil
}

// all shows the other approvals that wait, and answers them as this one is answered,
// those that were shown and no others. It returns the answer to this one.
func (d *Dialog) all(ctx context.Context, a *protocol.Answer) (*protocol.Answer, error) {
	var others []protocol.Approval
	if d.Others != nil {
		others = d.Others()
	}
	if len(others) == 0 {
		fmt.Fprintln(d.Out, "nothing else waits here")
		return nil, nil
	}
	for _, r := range others {
		fmt.Fprintln(d.Out)
		if err := d.Style.Question(d.Out, r); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(d.Out, "[y]es to all %d that are shown  [n]o to all  anything else goes back > ", len(others)+1)
	word, err := d.lines.next(ctx)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "y", "yes":
		a.Approve = true
	case "n", "no":
		fmt.Fprint(d.Out, askReason)
		if a.Feedback, err = d.lines.next(ctx); err != nil && !errors.Is(err, errEnded) {
			return nil, err
		}
	default:
		return nil, nil
	}
	for _, r := range others {
		if err := d.AnswerOther(r.ID, *a); err != nil && tool.KindOf(err) != tool.Conflict { // answered elsewhere meanwhile
			fmt.Fprintln(d.Out, d.Style.Bad(text.Safe(r.Call.Tool.Dotted()+": "+err.Error())))
		}
	}
	return a, nil
}

// edit lets the person change the arguments. A text that cannot be used is where
// the next edit begins.
func (d *Dialog) edit(a *protocol.Answer) (*protocol.Answer, error) {
	text, err := d.Edit(d.draft)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(d.draft)) {
		fmt.Fprintln(d.Out, "nothing was changed")
		return nil, nil
	}
	d.draft = text
	a.Approve = true
	a.Args, err = Object("what you wrote", text)
	return a, err
}

// Object checks that a text is one JSON object; what names it in the error.
func Object(what string, text []byte) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, &tool.Error{Op: "dialog.Object", Kind: tool.Invalid, Err: err,
			Message: what + " is not one JSON object"}
	}
	return bytes.TrimSpace(text), nil
}

// lines reads lines, and can stop waiting for one. At most one read runs, and
// only while somebody waits: an editor that is opened between two questions has
// the terminal for itself.
type lines struct {
	in   *bufio.Reader
	got  chan line
	busy bool
}

type line struct {
	text string
	err  error
}

// next returns the next line without its end, or ctx's error. A read that
// nobody waits for continues, and its line is the next one.
func (l *lines) next(ctx context.Context) (string, error) {
	if !l.busy {
		l.busy = true
		go func() {
			text, err := l.in.ReadString('\n')
			l.got <- line{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case got := <-l.got:
		l.busy = false
		if got.err != nil && got.text == "" {
			return "", errEnded
		}
		return got.text, nil
	case <-ctx.Done():
		return "", &tool.Error{Op: "dialog", Kind: tool.Cancelled, Err: context.Cause(ctx),
			Message: "stopped waiting for an answer"}
	}
}
