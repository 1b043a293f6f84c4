package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/sandbox"
	"callgate/internal/sandbox/ending"
	"callgate/internal/sandbox/netproxy"
	"callgate/tool"
)

// run is one command: its arguments, what it printed, and how it ended.
type run struct {
	in      bashArgs
	grant   tool.Grant
	network bool
	// accepted says that a person accepted the command, and that it starts outside the workspace.
	accepted bool
	out      *capture // stdout and stderr, in order
	exit     sandbox.Exit
	stopped  error // why the call ended before the command did; nil: it did not
	refused  error // what the proxy refused last
}

// bashData is the data of a result.
type bashData struct {
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Output     int64  `json:"output_bytes"`
	Truncated  bool   `json:"truncated,omitempty"`
	Sandbox    string `json:"sandbox"`
	Network    bool   `json:"network"`
}

// result makes the result of a command. A failure has the output, too: it tells the
// reasons; and how the command ended is its last line.
func (r *run) result() (*tool.Result, error) {
	out := r.out.String()
	data, err := json.Marshal(bashData{
		ExitCode: r.exit.Code, Signal: r.exit.Signal, DurationMS: r.exit.Duration.Milliseconds(),
		Output: r.out.total, Truncated: r.out.cut(), Sandbox: r.exit.Level, Network: r.network,
	})
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Internal, Message: "the result cannot be written as JSON", Err: err}
	}
	result := &tool.Result{Status: tool.Success, Data: data, Content: []tool.Content{tool.Text(out)}}
	for _, missing := range r.exit.Missing {
		result.Warnings = append(result.Warnings, "it ran although this machine cannot "+missing)
	}
	if r.out.cut() {
		result.Warnings = append(result.Warnings, fmt.Sprintf(
			"the command printed %d bytes; only the first %d and the last %d are kept, and the artifact has no more",
			r.out.total, len(r.out.head), len(r.out.tail)))
	}
	if failed := r.failure(out); failed != nil {
		result.Status, result.Error = tool.Failure, failed
		result.Summary = failed.Message + " (" + cmp.Or(lastLine(out), "it said nothing") + ")"
		if failed.Kind != tool.Failed || r.exit.Code <= 0 {
			result.Summary = failed.Error()
		} else if failed.Hint != "" {
			result.Summary = strings.TrimSuffix(result.Summary, ")") + "; " + failed.Hint + ")"
		}
		result.Content[0].Text = withEnd(out, r.endLine())
		return result, nil
	}
	result.Summary = fmt.Sprintf("exit code 0 after %v%s", r.took(), outputSummary(out, r.out.cut()))
	return result, nil
}

// took is how long it ran, for people and models.
func (r *run) took() time.Duration {
	if r.exit.Duration >= 10*time.Second {
		return r.exit.Duration.Round(time.Second)
	}
	return r.exit.Duration.Round(time.Millisecond)
}

// withEnd adds the line that tells how a command ended to what it printed.
func withEnd(out, end string) string {
	if out == "" {
		out = "(no output)"
	}
	return strings.TrimSuffix(out, "\n") + "\n" + end + "\n"
}

// endLine tells how a command ended that failed.
func (r *run) endLine() string {
	switch {
	case r.wasStopped() && r.stopped == context.Canceled:
		return fmt.Sprintf("stopped by the user after %v", r.took())
	case r.wasStopped(), r.exit.TimedOut:
		return fmt.Sprintf("stopped after %v", r.took())
	case r.exit.Signal != "":
		return "ended by " + r.exit.Signal
	default:
		return fmt.Sprintf("exit code %d", r.exit.Code)
	}
}

// wasStopped reports whether the command was stopped because its call ended.
func (r *run) wasStopped() bool { return r.stopped != nil && (r.exit.Signal != "" || r.exit.Code != 0) }

// outputSummary tells how much output there is.
func outputSummary(text string, cut bool) string {
	n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	switch {
	case text == "":
		return " (no output)"
	case cut:
		return ", with more output than is shown"
	case n == 1:
		return ", with 1 line of output"
	default:
		return fmt.Sprintf(", with %d lines of output", n)
	}
}

// stopError says by whom a command was stopped, after how long, and what there is of
// its output.
func (r *run) stopError(out string) *tool.Error {
	e := &tool.Error{Op: op, Kind: tool.Cancelled}
	switch {
	case r.stopped == context.Canceled:
		e.Message = fmt.Sprintf("stopped by the user after %v", r.took())
	case r.exit.TimedOut || tool.KindOf(r.stopped) == tool.Timeout || r.stopped == context.DeadlineExceeded:
		e.Kind, e.Message = tool.Timeout, fmt.Sprintf("stopped after %v, because the time of the call was over", r.took())
	default:
		e.Message = fmt.Sprintf("stopped after %v: %v", r.took(), r.stopped)
	}
	if out == "" {
		e.Message += "; it had printed nothing"
	} else {
		e.Message += "; output so far:"
	}
	return e
}

// failure says why a command failed and what to do about it; nil if it did not
// fail.
func (r *run) failure(out string) *tool.Error {
	e := &tool.Error{Op: op, Kind: tool.Failed}
	switch {
	case r.wasStopped():
		return r.stopError(out)
	case r.exit.TimedOut:
		e.Kind = tool.Timeout
		e.Message = fmt.Sprintf("the command did not end within %ds, so it was stopped with everything it had started",
			r.in.Timeout)
		e.Hint = "what it printed is kept; do less, raise timeout (to 1800 at most), or use run_in_background"
	case r.exit.Limit != "":
		e.Message = "the command was stopped, because all its processes together took too much: " + r.exit.Limit
		e.Hint = "do less at a time, or use fewer parallel jobs"
	case r.exit.Signal != "":
		e.Message = "the command was ended by " + r.exit.Signal
		e.Hint = signalHints[r.exit.Signal]
		if ending.CutOff(r.exit.Signal) && !r.in.ReadsOnly {
			e.Kind, e.Message = tool.InDoubt, e.Message+" in the middle of its work"
			e.Hint = strings.TrimPrefix(e.Hint+"; see how far it came before you repeat it", "; ")
		}
	case r.exit.Code != 0:
		e.Message = fmt.Sprintf("the command failed with exit code %d", r.exit.Code)
		e.Hint = r.hint(out[max(0, len(out)-16<<10):])
	default:
		return nil
	}
	return e
}

var signalHints = map[string]string{
	"SIGKILL": "something killed it: perhaps memory ran out",
	"SIGXFSZ": "it wrote a larger file than it may",
	"SIGXCPU": "it used more processor time than it may",
	"SIGSYS":  "it asked the system for something that no command may do here",
}

// lastLine returns the last line, where most programs say what went wrong.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n \t")
	return tool.Truncate(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}

const openNetwork = "the user may give commands the whole network: " +
	"tools.modules.shell.config.network: direct in the app file"

// hint explains a failure that the sandbox may have caused. tail is the end of the
// output.
func (r *run) hint(tail string) string {
	says := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(tail, p) })
	}
	readOnly := says("Read-only file system", "EROFS")
	denied := readOnly || says("Permission denied", "EACCES")
	if r.exit.Proxied {
		if hint := netproxy.Hint(r.refused, tail, openNetwork); hint != "" {
			return hint
		}
	}
	switch {
	case !r.network && says("Could not resolve host", "Temporary failure in name resolution", "Network is unreachable",
		"network is unreachable", "no such host", "EAI_AGAIN", "ENETUNREACH", "getaddrinfo"):
		return "commands have no network here; use a tool that has, or ask the user to allow it"
	case len(r.in.Writes) > 0 && (denied || says("Device or resource busy", "EBUSY")):
		return "only what writes names can be written: " + tool.Truncate(strings.Join(r.in.Writes, ", ")) +
			"; name a folder where files are replaced, or omit writes"
	case r.in.ReadsOnly && denied:
		return "with reads_only nothing in the workspace can be written; " +
			"name what it writes in writes, or omit reads_only"
	case readOnly:
		return "only the workspace and /tmp can be written"
	case r.exit.Code == 127:
		return "bash did not find a program: it is not installed, or not in the PATH"
	case r.exit.Code == 126:
		return "the file is not executable: chmod +x, or run it with its interpreter"
	}
	return ""
}
