package dialog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/internal/visible"
	"callgate/tool"
)

// Questioner puts what an agent asks to the person at a terminal, line by line. What was
// typed before the question is discarded.
type Questioner struct {
	In    io.Reader
	Out   io.Writer
	Style render.Style
	// Edit lets the person change a text, and returns the new text.
	Edit func(text []byte) ([]byte, error)
	// Answer gives the answer. An Invalid one is explained, and asked for again.
	Answer func(question.Reply) error

	lines lines
	reply question.Reply
}

// errDenied says that the person said no.
var errDenied = errors.New("the person said no")

// Run asks until the question is answered here, or ctx ends because it was answered
// elsewhere; left says that the person left it waiting.
func (d *Questioner) Run(ctx context.Context, r protocol.Question) (left bool, err error) {
	fmt.Fprintln(d.Out, d.Style.Strong("The agent asks:"))
	if err := (render.Questions{Style: d.Style}).Ask(d.Out, r.Question); err != nil {
		return false, err
	}
	help := "/no and a reason says no, /quit leaves it waiting"
	if r.Question.Content != "" {
		help = "/edit changes the content, " + help
	}
	fmt.Fprintln(d.Out, d.Style.Faint(help))
	if f, ok := d.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		dropTyped(int(f.Fd()))
	}
	d.lines = lines{in: bufio.NewReader(d.In), got: make(chan line, 1)}
	for {
		d.reply.Approve = true
		err := d.read(ctx, r.Question)
		switch {
		case errors.Is(err, errEnded), errors.Is(err, errLeave):
			return true, nil
		case err == nil, errors.Is(err, errDenied):
			err = d.Answer(d.reply)
		}
		if kind := tool.KindOf(err); err == nil || kind != tool.Invalid && kind != tool.Failed {
			return false, err
		}
		fmt.Fprintln(d.Out, d.Style.Bad(text.Safe(err.Error())))
	}
}

func (d *Questioner) read(ctx context.Context, q question.Question) error {
	switch {
	case len(q.Form) > 0:
		return d.form(ctx, q)
	case len(q.Choices) > 0:
		return d.choose(ctx, q)
	case q.ResponseType == question.Approval:
		return d.yesOrNo(ctx, q)
	}
	prompt := "your answer"
	if q.Multiline {
		prompt += " (an empty line ends it)"
	}
	switch {
	case q.Default != "":
		prompt += " [" + q.Default + "]"
	case q.Content != "":
		prompt += " (empty: as it is)"
	case q.Placeholder != "":
		prompt += " (" + q.Placeholder + ")"
	}
	var said []string
	for {
		line, err := d.line(ctx, q, prompt)
		if err != nil {
			return err
		}
		if q.Multiline && line != "" {
			said, prompt = append(said, line), ""
			continue
		}
		d.reply.Text = strings.Join(append(said, line), "\n")
		return nil
	}
}

// line reads a line that is no command.
func (d *Questioner) line(ctx context.Context, q question.Question, prompt string) (string, error) {
	for {
		fmt.Fprint(d.Out, d.Style.Strong(visible.Text(prompt)+" >"), " ")
		got, err := d.lines.next(ctx)
		if err != nil {
			if errors.Is(err, errEnded) {
				fmt.Fprintln(d.Out)
			}
			return "", err
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(got), " ")
		switch {
		case word == "/no":
			d.reply = question.Reply{Feedback: strings.TrimSpace(rest)}
			return "", errDenied
		case word == "/quit":
			return "", errLeave
		case word == "/edit" && q.Content != "":
			if err := d.edit(q); err != nil {
				return "", err
			}
		default:
			return got, nil
		}
	}
}

func (d *Questioner) edit(q question.Question) error {
	before := q.Content
	if d.reply.Content != nil {
		before = *d.reply.Content
	}
	after, err := d.Edit([]byte(before))
	if err != nil {
		return err
	}
	content := string(after)
	if d.reply.Content = &content; content == q.Content {
		d.reply.Content = nil
		fmt.Fprintln(d.Out, "nothing was changed")
	}
	return nil
}

func (d *Questioner) yesOrNo(ctx context.Context, q question.Question) error {
	got, err := d.line(ctx, q, "[y]es  [n]o")
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(got), " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		d.reply.Text = strings.TrimSpace(rest)
		return nil
	case "n", "no":
		d.reply = question.Reply{Feedback: strings.TrimSpace(rest)}
		return nil
	}
	return tool.Errorf("dialog", tool.Invalid, "say yes or no")
}

func (d *Questioner) choose(ctx context.Context, q question.Question) error {
	prompt := "a number"
	if q.AllowMultiple {
		prompt = "numbers, with commas between them"
	}
	if q.AllowCustom {
		prompt += ", or your own words"
	}
	if q.Default != "" {
		prompt += " [" + q.Default + "]"
	}
	got, err := d.line(ctx, q, prompt)
	if err != nil {
		return err
	}
	d.reply.Choices, d.reply.Text = nil, ""
	words := []string{strings.TrimSpace(got)}
	if q.AllowMultiple && !slices.Contains(q.Choices, words[0]) {
		words = strings.Split(got, ",")
	}
	for _, w := range words {
		if w = strings.TrimSpace(w); w != "" {
			d.reply.Choices = append(d.reply.Choices, numbered(w, q.Choices))
		}
	}
	return nil
}

// numbered is the choice with a number, or the word itself.
func numbered(word string, choices []string) string {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > len(choices) || slices.Contains(choices, word) {
		return word
	}
	return choices[n-1]
}

// form asks for one field after the other. What does not fit is asked for again.
func (d *Questioner) form(ctx context.Context, q question.Question) error {
	d.reply.Fields = map[string]any{}
	for _, f := range q.Form {
		for {
			typed, err := d.field(ctx, q, f)
			if err != nil {
				return err
			}
			value, err := f.Value(typed)
			if err == nil && value == nil && f.Required && f.Default == nil {
				err = tool.Errorf("dialog", tool.Invalid, "it is needed")
			}
			if err == nil {
				if value != nil {
					d.reply.Fields[f.Name] = value
				}
				break
			}
			fmt.Fprintln(d.Out, d.Style.Bad(text.Safe(f.Label+": "+err.Error())))
		}
	}
	return nil
}

func (d *Questioner) field(ctx context.Context, q question.Question, f question.Field) (string, error) {
	prompt := f.Label
	if f.Default != nil {
		prompt += " [" + question.ValueText(f.Default) + "]"
	}
	if file, ok := d.In.(*os.File); ok && f.IsSecret() && term.IsTerminal(int(file.Fd())) {
		typed, err := ReadHidden(ctx, int(file.Fd()), func() {
			fmt.Fprint(d.Out, d.Style.Strong(visible.Text(prompt)+" (not shown) >"), " ")
		})
		fmt.Fprintln(d.Out)
		return string(typed), err
	}
	got, err := d.line(ctx, q, prompt)
	if f.Type == question.Select {
		got = numbered(strings.TrimSpace(got), f.Options)
	}
	return got, err
}
