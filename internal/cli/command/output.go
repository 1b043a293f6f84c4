package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/durable"
	"callgate/internal/visible"
	"callgate/tool"
)

// Output writes what a command has to say, as its flags want it.
type Output struct {
	Host
	Flags
}

// Style is how text for a stream is laid out.
func (o *Output) Style(stream io.Writer) render.Style {
	s := render.Style{Now: o.Now}
	fd, ok := Terminal(stream)
	if !ok {
		return s
	}
	s.Color = !o.NoColor && o.Getenv("NO_COLOR") == "" && o.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(fd); err == nil {
		s.Width = width
	}
	return s
}

// WriteJSON writes a value as indented JSON to standard output.
func (o *Output) WriteJSON(v any) error { return o.writeJSON(v, "  ") }

// WriteJSONLine writes a value as one line of JSON to standard output.
func (o *Output) WriteJSONLine(v any) error { return o.writeJSON(v, "") }

func (o *Output) writeJSON(v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return WriteError(err)
	}
	data := b.Bytes()
	if _, screen := Terminal(o.Stdout); screen {
		data = []byte(visible.JSON(b.String()))
	}
	_, err := o.Stdout.Write(data)
	return WriteError(err)
}

// Print writes text to standard output: as it is to a pipe or a file, and so
// that all of it is seen and nothing obeyed to a terminal.
func (o *Output) Print(words string) error {
	if _, screen := Terminal(o.Stdout); screen {
		words = text.Safe(strings.ReplaceAll(words, "\r\n", "\n"))
	}
	_, err := io.WriteString(o.Stdout, words)
	return WriteError(err)
}

// Status writes a line about the answer to standard error.
func (o *Output) Status(format string, args ...any) {
	fmt.Fprintln(o.Stderr, text.Safe(fmt.Sprintf(format, args...)))
}

// ToFile has something written to a file, which appears only when it is
// complete, or to standard output when the path is empty or "-"; a terminal is
// shown it as Print does.
func (o *Output) ToFile(path string, write func(io.Writer) error) error {
	const op = "cli.output"
	if _, screen := Terminal(o.Stdout); screen && (path == "" || path == "-") {
		shown := &visible.Writer{W: o.Stdout}
		return WriteError(errors.Join(write(shown), shown.Flush()))
	} else if path == "" || path == "-" {
		return WriteError(write(o.Stdout))
	}
	path = o.Path(path)
	f, err := durable.New(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Failed, Message: "the file cannot be made", Err: err}
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return WriteError(err)
	}
	return WriteError(f.Commit(path, 0o600))
}

// WriteError turns a failure to write the answer into an error of our own.
func WriteError(err error) error {
	var own *tool.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the answer cannot be written", Err: err}
}

// Fail reports an error and returns its exit code.
func (o *Output) Fail(err error) int {
	var code exitError
	if errors.As(err, &code) {
		return int(code)
	}
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: "cli", Kind: tool.Internal, Message: err.Error()}
	}
	if o.JSON {
		status := tool.Failure
		if e.Kind == tool.Denied || e.Kind == tool.Limited {
			status = tool.Refused
		}
		_ = o.WriteJSON(tool.Result{Status: status, Summary: e.Error(), Error: e})
		return CodeOf(e.Kind)
	}
	o.explain(e, "")
	return CodeOf(e.Kind)
}

// explain writes an error for a person. A non-empty example is a command line
// that would be right.
func (o *Output) explain(e *tool.Error, example string) {
	s := o.Style(o.Stderr)
	message := e.Message
	if e.Err != nil && !strings.Contains(message, e.Err.Error()) {
		message += ": " + e.Err.Error()
	}
	o.Status("callgate: %s", message)
	hint := e.Hint
	if len(e.Similar) > 0 && !strings.Contains(hint, e.Similar[0]) {
		o.Status("  did you mean %s?", strings.Join(e.Similar, " or "))
	} else if len(e.Similar) > 0 && !strings.Contains(hint, "did you mean") && len(e.Similar) == 1 {
		o.Status("  did you mean %s?", e.Similar[0])
	}
	for _, f := range e.Fields {
		if strings.Contains(message, f.Path+": want "+f.Want) {
			continue // the message has it already
		}
		where := f.Path
		if where == "" {
			where = "the arguments"
		}
		o.Status("  %s: wants %s, got %s", where, f.Want, f.Got)
	}
	if hint != "" {
		o.Status("  %s", hint)
	}
	switch {
	case example != "":
		fmt.Fprintf(o.Stderr, "  %s %s\n", s.Faint("for example:"), text.Safe(example))
	case len(e.Example) > 0:
		fmt.Fprintf(o.Stderr, "  %s %s\n", s.Faint("for example:"), text.Safe(plainJSON(e.Example)))
	}
}

// plainJSON writes JSON in one line, with <, > and & as they are.
func plainJSON(data json.RawMessage) string {
	var v any
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if json.Unmarshal(data, &v) != nil || enc.Encode(v) != nil {
		return string(data)
	}
	return strings.TrimSpace(b.String())
}
