package command

import (
	"errors"
	"strconv"

	"callgate/tool"
)

// The exit codes.
const (
	ExitFailed      = 1
	ExitUsage       = 2
	ExitDenied      = 3
	ExitWaiting     = 4
	ExitNotFound    = 5
	ExitBusy        = 6
	ExitUnavailable = 7
	ExitDoubt       = 8
	ExitNeedsHuman  = 9
	ExitStuck       = 10
	ExitCut         = 11
	ExitCost        = 12
	ExitChecks      = 13
	ExitAsks        = 20
	ExitRefused     = 21
	ExitBroken      = 22
	ExitCancelled   = 130
)

// ExitCodes explains the exit codes; docs/CLI.md has the same table.
const ExitCodes = `The exit code says how a command ended:

    0  success
    1  the tool ran and failed, or any failure not named below
    2  a wrong command line, or arguments that do not fit the tool
    3  denied: by policy, by a human, because nobody may approve their own call, or by the model itself
    4  waiting for a human
    5  not found, or several things answer to that name
    6  busy, rate-limited, or out of time
    7  the kernel is unavailable or in conflict: already running, already answered
    8  in doubt: it may or may not have happened; or log verify found damage
    9  a turn ended, but calls in it needed a human and nobody was there to ask
   10  a turn was stuck: the same calls over and over, or as many requests as there may be
   11  a turn ended in the middle of its answer: the model's limit of tokens
   12  a turn, or a benchmark, ended because it had cost as much as it may
   13  a benchmark ended, and no model of a tool reached its threshold
   20  tools preflight: everything is there, and something would ask a human first
   21  tools preflight: something would be refused
   22  tools preflight: something is missing or broken
  130  cancelled by a signal`

// CodeOf is the exit code for a kind of failure.
func CodeOf(k tool.Kind) int {
	switch k {
	case "":
		return 0
	case tool.Invalid:
		return ExitUsage
	case tool.Denied:
		return ExitDenied
	case tool.NotFound, tool.Ambiguous:
		return ExitNotFound
	case tool.Busy, tool.Limited, tool.Timeout:
		return ExitBusy
	case tool.Unavailable, tool.Conflict:
		return ExitUnavailable
	case tool.InDoubt:
		return ExitDoubt
	case tool.Cancelled:
		return ExitCancelled
	default:
		return ExitFailed
	}
}

// codeOfResult is the exit code for a result.
func codeOfResult(r *tool.Result) int {
	switch {
	case r.Status == tool.Waiting:
		return ExitWaiting
	case r.Error != nil:
		return CodeOf(r.Error.Kind)
	case r.Status == tool.Success:
		return 0
	case r.Status == tool.Refused:
		return ExitDenied
	default:
		return ExitFailed
	}
}

// exitError ends a command that has nothing more to say.
type exitError int

func (e exitError) Error() string { return "exit code " + strconv.Itoa(int(e)) }

// Exit returns an error that ends a command with a code and without a message;
// nil for 0.
func Exit(code int) error {
	if code == 0 {
		return nil
	}
	return exitError(code)
}

// IsExit reports whether an error comes from Exit.
func IsExit(err error) bool {
	var e exitError
	return errors.As(err, &e)
}
