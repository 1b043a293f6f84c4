// Package journal has the commands that read, verify and prune the journal, and
// show the kernel's locks and artifacts.
package journal

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/daemon/wire"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the commands log, locks and artifact.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{Use: "log", Short: "Read, prove and keep the journal"}
	e.Group(group, newTail(e), newShow(e), newDoubt(e), newVerify(e), newExport(e), newPrune(e))
	return []*cobra.Command{group, newLocks(e), newArtifact(e)}
}

// show is log show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show CALL|SEQ", Short: "Tell the whole story of a call",
		Example: "  callgate log show c1x9z\n  callgate log show 42", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		records, err := callRecords(ctx, k, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(records)
		}
		return command.WriteError(s.Style(s.Stdout).Call(s.Stdout, records))
	})
}

// callRecords finds the records of a call by its ID, by the number of one of its
// records, or by the ID of its approval.
func callRecords(ctx context.Context, k *command.Kernel, what string) ([]protocol.Record, error) {
	call := what
	if seq, err := strconv.ParseUint(what, 10, 64); err == nil && seq > 0 {
		records, err := k.Journal(ctx, protocol.JournalQuery{After: seq - 1, Before: seq + 1})
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return nil, tool.Errorf("cli.story", tool.NotFound, "the journal has no record %d", seq).
				WithHint("callgate log tail shows the newest")
		}
		if records[0].Call == "" {
			return records, nil
		}
		call = records[0].Call
	}
	records, err := k.Journal(ctx, protocol.JournalQuery{Call: call})
	if err != nil || len(records) > 0 {
		return records, err
	}
	if r, err := k.FindApproval(ctx, what); err == nil {
		return k.Journal(ctx, protocol.JournalQuery{Call: r.Call.ID})
	}
	return nil, tool.Errorf("cli.story", tool.NotFound, "the journal knows no call %s", tool.Truncate(what)).
		WithHint("callgate log tail --json shows calls with their ids")
}

// verify is log verify.
type verify struct{ *command.Env }

func newVerify(e *command.Env) *cobra.Command {
	v := &verify{e}
	return e.Leaf(&cobra.Command{
		Use: "verify [EXPORT]", Short: "Prove that the journal is whole, or an export of it",
		Example: "  callgate log verify\n  callgate log verify journal.jsonl",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, v.run)
}

// run verifies the journal, or an export of it, and fails when it is damaged.
func (v *verify) run(ctx context.Context, args []string) error {
	report, err := v.report(ctx, args)
	if err != nil {
		return err
	}
	if v.JSON {
		err = v.WriteJSON(report)
	} else {
		err = command.WriteError(v.Style(v.Stdout).Report(v.Stdout, report))
	}
	if err == nil && !report.OK() {
		return command.Exit(command.ExitDoubt)
	}
	return err
}

func (v *verify) report(ctx context.Context, args []string) (report protocol.VerifyReport, err error) {
	if len(args) == 0 {
		err = v.With(ctx, func(k *command.Kernel) error {
			report, err = k.Verify(ctx)
			return err
		})
		return report, err
	}
	in := v.Stdin
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return report, &tool.Error{Op: "cli.verify", Kind: tool.NotFound, Message: "the export cannot be opened", Err: err}
		}
		defer f.Close()
		in = f
	}
	found, err := journal.VerifyExport(in)
	return wire.VerifyReport(found), err
}

// export is log export.
type export struct {
	*command.Env
	output string
	query  protocol.JournalQuery
}

func newExport(e *command.Env) *cobra.Command {
	x := &export{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "export", Short: "Write the journal as JSON lines that can be verified",
		Example: "  callgate log export --output journal.jsonl", Args: cobra.NoArgs,
	}, x.run)
	c.Flags().StringVarP(&x.output, "output", "o", "", "file to write (default standard output)")
	c.Flags().StringVar(&x.query.Call, "call", "", "only the records of this call")
	c.Flags().Uint64Var(&x.query.After, "after", 0, "only records after this number")
	return c
}

func (x *export) run(ctx context.Context, _ []string) error {
	return x.With(ctx, func(k *command.Kernel) error {
		return x.ToFile(x.output, func(w io.Writer) error { return k.Export(ctx, w, x.query) })
	})
}

// prune is log retain.
type prune struct {
	*command.Env
	olderThan string
}

func newPrune(e *command.Env) *cobra.Command {
	p := &prune{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "retain --older-than AGE", Short: "Remove old records, leaving a signed summary",
		Example: "  callgate log retain --older-than 30d", Args: cobra.NoArgs,
	}, p.run)
	c.Flags().StringVar(&p.olderThan, "older-than", "", "age of what goes: 30d, 2w, 12h")
	_ = c.MarkFlagRequired("older-than")
	return c
}

func (p *prune) run(ctx context.Context, _ []string) error {
	age, err := parseAge(p.olderThan)
	if err != nil {
		return err
	}
	return p.WithKey(ctx, func(k *command.Kernel) error {
		removed, err := k.Prune(ctx, protocol.Prune{Before: p.Now().Add(-age)})
		switch {
		case err != nil:
			return err
		case p.JSON:
			return p.WriteJSON(removed)
		}
		p.Status("removed %d records and %d artifacts", removed.Records, removed.Artifacts)
		return nil
	})
}

// parseAge reads 30d, 2w, 12h or what time.ParseDuration reads.
func parseAge(text string) (time.Duration, error) {
	bad := tool.Errorf("cli.retain", tool.Invalid, "%q is not an age", tool.Truncate(text)).WithHint("write it as 30d, 2w or 12h")
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil || n > 36500 {
				return 0, bad
			}
			return time.Duration(n) * unit, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, bad
	}
	return d, nil
}

// locks is locks.
type locks struct{ *command.Env }

func newLocks(e *command.Env) *cobra.Command {
	l := &locks{e}
	return e.Leaf(&cobra.Command{Use: "locks", Short: "Show who holds what, and who waits behind whom", Args: cobra.NoArgs}, l.run)
}

func (l *locks) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := k.Locks(ctx)
		switch {
		case err != nil:
			return err
		case l.JSON:
			return l.WriteJSON(found)
		}
		return command.WriteError(l.Style(l.Stdout).Locks(l.Stdout, found))
	})
}

// artifact is artifact.
type artifact struct {
	*command.Env
	output string
}

func newArtifact(e *command.Env) *cobra.Command {
	a := &artifact{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "artifact REF", Short: "Write what an artifact holds",
		Example: "  callgate artifact sha256:1f… --output result.txt", Args: cobra.ExactArgs(1),
	}, a.run)
	c.Flags().StringVarP(&a.output, "output", "o", "", "file to write (default standard output)")
	return c
}

func (a *artifact) run(ctx context.Context, args []string) error {
	return a.With(ctx, func(k *command.Kernel) error {
		return a.ToFile(a.output, func(w io.Writer) error { return k.Artifact(ctx, w, args[0]) })
	})
}
