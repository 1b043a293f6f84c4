package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/cli/render"
	"callgate/internal/nearest"
	"callgate/tool"
)

// The exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitDenied      = 3
	exitWaiting     = 4
	exitNotFound    = 5
	exitBusy        = 6
	exitUnavailable = 7
	exitDoubt       = 8
	exitCancelled   = 130
)

const exitCodesText = `The exit code says how a command ended:

    0  success
    1  the tool ran and failed, or any failure not named below
    2  a wrong command line, or arguments that do not fit the tool
    3  denied: by policy, by a human, or because nobody may approve their own call
    4  waiting for a human
    5  not found, or several things answer to that name
    6  busy, rate-limited, or out of time
    7  the kernel is unavailable or in conflict: already running, already answered
    8  in doubt: it may or may not have happened; or log verify found damage
  130  cancelled by a signal`

// exitCodes is a help topic.
func exitCodes() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}

// codeOf is the exit code for a kind of failure.
func codeOf(k tool.Kind) int {
	switch k {
	case "":
		return 0
	case tool.Invalid:
		return exitUsage
	case tool.Denied:
		return exitDenied
	case tool.NotFound, tool.Ambiguous:
		return exitNotFound
	case tool.Busy, tool.Limited, tool.Timeout:
		return exitBusy
	case tool.Unavailable, tool.Conflict:
		return exitUnavailable
	case tool.InDoubt:
		return exitDoubt
	case tool.Cancelled:
		return exitCancelled
	default:
		return exitFailed
	}
}

// codeOfResult is the exit code for a result.
func codeOfResult(r *tool.Result) int {
	switch {
	case r.Status == tool.Waiting:
		return exitWaiting
	case r.Error != nil:
		return codeOf(r.Error.Kind)
	case r.Status == tool.Success:
		return 0
	case r.Status == tool.Refused:
		return exitDenied
	default:
		return exitFailed
	}
}

// exit ends a command with a code, when all has been said.
type exit int

func (e exit) Error() string { return "exit code " + strconv.Itoa(int(e)) }

func isExit(err error) bool {
	var e exit
	return errors.As(err, &e)
}

// ended returns nil for 0, and else an error that carries the code.
func ended(code int) error {
	if code == 0 {
		return nil
	}
	return exit(code)
}

// fail tells of an error and returns its exit code.
func (p *program) fail(err error) int {
	var done exit
	if errors.As(err, &done) {
		return int(done)
	}
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: "cli", Kind: tool.Internal, Message: err.Error()}
	}
	if p.json {
		status := tool.Failure
		if e.Kind == tool.Denied || e.Kind == tool.Limited {
			status = tool.Refused
		}
		_ = p.writeJSON(tool.Result{Status: status, Summary: e.Error(), Error: e})
		return codeOf(e.Kind)
	}
	p.explain(e, "")
	return codeOf(e.Kind)
}

// explain writes an error for a person; example, when there is one, is a
// command line that would be right.
func (p *program) explain(e *tool.Error, example string) {
	s := p.style(p.Stderr)
	message := e.Message
	if e.Err != nil && !strings.Contains(message, e.Err.Error()) {
		message += ": " + e.Err.Error()
	}
	p.status("callgate: %s", message)
	hint := e.Hint
	if len(e.Similar) > 0 && !strings.Contains(hint, e.Similar[0]) {
		p.status("  did you mean %s?", strings.Join(e.Similar, " or "))
	} else if len(e.Similar) > 0 && !strings.Contains(hint, "did you mean") && len(e.Similar) == 1 {
		p.status("  did you mean %s?", e.Similar[0])
	}
	for _, f := range e.Fields {
		if strings.Contains(message, f.Path+": want "+f.Want) {
			continue // the message has said it
		}
		where := f.Path
		if where == "" {
			where = "the arguments"
		}
		p.status("  %s: wants %s, got %s", where, f.Want, f.Got)
	}
	if hint != "" {
		p.status("  %s", hint)
	}
	switch {
	case example != "":
		fmt.Fprintf(p.Stderr, "  %s %s\n", s.Faint("for example:"), render.Safe(example))
	case len(e.Example) > 0:
		fmt.Fprintf(p.Stderr, "  %s %s\n", s.Faint("for example:"), render.Safe(plainJSON(e.Example)))
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

// usage makes one of cobra's complaints our own.
func usage(cmd *cobra.Command, err error) error {
	var known *tool.Error
	if errors.As(err, &known) {
		return err
	}
	e := tool.Errorf("cli", tool.Invalid, "%s", err)
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		var names []string
		cmd.InheritedFlags() // joins them to the command's own
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, near := range nearest.Names(missing.GetSpecifiedName(), names, 3) {
			e.Similar = append(e.Similar, "--"+near)
		}
	}
	return e.WithHint("see %s --help", cmd.CommandPath())
}

// unknownCommand is the answer to a command that is not there.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	e := tool.Errorf("cli", tool.Invalid, "%s has no command %q", cmd.CommandPath(), tool.Truncate(word))
	e.Similar = nearest.Names(word, names, 3)
	return e.WithHint("its commands: %s", strings.Join(names, ", "))
}
