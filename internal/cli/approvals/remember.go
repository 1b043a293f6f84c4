package approvals

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"callgate/internal/protocol"
	"callgate/tool"
)

// remember is how a yes may last: the flags of approve.
type remember struct {
	what  string
	until string
}

func (r *remember) bind(flags *pflag.FlagSet) {
	flags.StringVar(&r.what, "remember", "",
		"also keep the yes: `exact` for this exact call in this folder, or the number of a choice that approvals show lists")
	flags.StringVar(&r.until, "until", "", "with --remember: the `END` of the kept yes, as 30d or 2027-01-31")
}

// of is what the flags mean for an approval; nil when they are not given.
func (r *remember) of(a protocol.Approval) (*protocol.Remember, error) {
	const op = "cli.approve"
	switch {
	case r.what == "" && r.until == "":
		return nil, nil
	case r.what == "":
		return nil, tool.Errorf(op, tool.Invalid, "--until is the end of a kept yes, and --remember is missing").
			WithHint("say what to keep: --remember exact, or the number of a choice")
	case len(a.Choices) == 0:
		return nil, tool.Errorf(op, tool.Invalid, "a yes to %s cannot be kept: it is asked for each time",
			a.Call.Tool.Dotted()).WithHint("approve it once, without --remember")
	}
	until, err := protocol.ParseUntil(r.until, time.Now())
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(r.what)
	if r.what == "exact" {
		number, err = 1, nil // the first choice is the exact call, in this folder
	}
	if err != nil || number < 1 || number > len(a.Choices) {
		return nil, tool.Errorf(op, tool.Invalid, "--remember %q is no choice of approval %s", tool.Truncate(r.what), a.ID).
			WithHint("write exact, or a number from 1 to %d: callgate approvals show %s", len(a.Choices), a.ID)
	}
	return &protocol.Remember{Choice: number, Until: until}, nil
}
