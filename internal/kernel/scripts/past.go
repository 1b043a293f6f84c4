package scripts

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/journal"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// IsScript reports whether a call may be a script, or have one run in its place.
func IsScript(name string, args []byte) bool {
	return strings.HasSuffix(name, "run_script") ||
		strings.HasSuffix(name, "execute_tool") && strings.Contains(string(args), "run_script")
}

var inScript = regexp.MustCompile(`^(.+)\.s(\d+)-[0-9a-f]{8}$`)

// Past returns the calls that a script made, as they are on record. call is the script's, or
// that of a tool which had it run.
func (r *Runner) Past(ctx context.Context, call string) ([]Step, error) {
	records, err := r.opt.Journal.Read(ctx, journal.Query{Within: call})
	if err != nil {
		return nil, err
	}
	made := map[string]*Step{}
	for _, rec := range records {
		of := inScript.FindStringSubmatch(rec.Call)
		if of == nil {
			continue
		}
		step := made[rec.Call]
		if step == nil {
			number, _ := strconv.Atoi(of[2])
			step = &Step{
				Script: of[1], Call: rec.Call, Number: number, Status: tool.Failure, Summary: "how it ended is not on record",
			}
			made[rec.Call] = step
		}
		step.add(rec)
	}
	steps := make([]Step, 0, len(made))
	for _, s := range made {
		steps = append(steps, *s)
	}
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Script, b.Script), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Call, b.Call))
	})
	return steps, nil
}

// add takes what a record says of a call.
func (s *Step) add(rec journal.Record) {
	s.Name = cmp.Or(rec.Name, s.Name)
	if ask := rec.Ask; ask != nil {
		s.Line = cmp.Or(ask.Line, s.Line)
		if len(ask.Args) > 0 {
			s.Args = arguments.Brief(ask.Args, maxArgs)
		}
		if ask.Verdict == journal.Refuse {
			s.Status, s.Summary = tool.Refused, tool.TruncateTo(ask.Reason, maxSummary)
		}
	}
	if end := rec.End; end != nil {
		s.Status, s.Summary, s.Took = end.Status, tool.TruncateTo(end.Summary, maxSummary), end.Took
	}
}
