package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/daemon/wire"
	"callgate/internal/durable"
	"callgate/internal/journal"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) logCommand() *cobra.Command {
	var t tailFlags
	tail := p.leaf("tail", "Show the newest records", "  callgate log tail -n 50\n  callgate log tail -f\n  callgate log tail --after 120 --json",
		cobra.NoArgs, func(ctx context.Context, _ []string) error { return p.tail(ctx, t) })
	tail.Flags().IntVarP(&t.count, "lines", "n", 20, "how many")
	tail.Flags().BoolVarP(&t.follow, "follow", "f", false, "go on with each new one, across restarts of the kernel")
	tail.Flags().BoolVar(&t.live, "live", false, "with -f: also what calls print while they run")
	tail.Flags().Uint64Var(&t.after, "after", 0, "all records after this number instead")

	show := p.leaf("show CALL|SEQ", "Tell the whole story of a call", "  callgate log show c1x9z\n  callgate log show 42", cobra.ExactArgs(1), p.showCall)

	verify := p.leaf("verify [EXPORT]", "Prove that the journal is whole, or an export of it", "  callgate log verify\n  callgate log verify journal.jsonl",
		cobra.MaximumNArgs(1), p.verify)
	verify.ValidArgsFunction = nil // files

	var output, call string
	var after uint64
	export := p.leaf("export", "Write the journal as JSON lines that can be verified", "  callgate log export --output journal.jsonl",
		cobra.NoArgs, func(ctx context.Context, _ []string) error {
			return p.export(ctx, output, protocol.JournalQuery{Call: call, After: after})
		})
	export.Flags().StringVarP(&output, "output", "o", "", "file to write (default standard output)")
	export.Flags().StringVar(&call, "call", "", "only the records of this call")
	export.Flags().Uint64Var(&after, "after", 0, "only records after this number")

	var older string
	retain := p.leaf("retain --older-than AGE", "Remove old records, leaving a signed summary", "  callgate log retain --older-than 30d",
		cobra.NoArgs, func(ctx context.Context, _ []string) error { return p.prune(ctx, older) })
	retain.Flags().StringVar(&older, "older-than", "", "age of what goes: 30d, 2w, 12h")
	_ = retain.MarkFlagRequired("older-than")

	return p.group("log", "Read, prove and keep the journal", "", tail, show, p.doubtCommand(), verify, export, retain)
}

// showCall tells what happened to one call.
func (p *program) showCall(ctx context.Context, args []string) error {
	return p.with(ctx, false, func(k *kernel) error {
		records, err := k.callRecords(ctx, args[0])
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(records)
		}
		return writeError(p.style(p.Stdout).Call(p.Stdout, records))
	})
}

// callRecords finds the records of a call, by its id, by the number of one of its
// records, or by the id of its approval.
func (k *kernel) callRecords(ctx context.Context, what string) ([]protocol.Record, error) {
	call := what
	if seq, err := strconv.ParseUint(what, 10, 64); err == nil && seq > 0 {
		records, err := k.Journal(ctx, protocol.JournalQuery{After: seq - 1, Before: seq + 1})
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			return nil, tool.Errorf("cli.story", tool.NotFound, "the journal has no record %d", seq).WithHint("callgate log tail shows the newest")
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
	if r, err := k.find(ctx, what); err == nil {
		return k.Journal(ctx, protocol.JournalQuery{Call: r.Call.ID})
	}
	return nil, tool.Errorf("cli.story", tool.NotFound, "the journal knows no call %s", tool.Truncate(what)).
		WithHint("callgate log tail --json shows calls with their ids")
}

// verify proves the journal, or an export of it, and fails when it is damaged.
func (p *program) verify(ctx context.Context, args []string) error {
	report, err := p.report(ctx, args)
	if err != nil {
		return err
	}
	if p.json {
		err = p.writeJSON(report)
	} else {
		err = writeError(p.style(p.Stdout).Report(p.Stdout, report))
	}
	if err == nil && !report.OK() {
		return ended(exitDoubt)
	}
	return err
}

func (p *program) report(ctx context.Context, args []string) (report protocol.VerifyReport, err error) {
	if len(args) == 0 {
		err = p.with(ctx, false, func(k *kernel) error {
			report, err = k.Verify(ctx)
			return err
		})
		return report, err
	}
	in := p.Stdin
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

func (p *program) export(ctx context.Context, path string, q protocol.JournalQuery) error {
	return p.with(ctx, false, func(k *kernel) error {
		return p.output(path, func(w io.Writer) error { return k.Export(ctx, w, q) })
	})
}

// output has something written to a file, which appears only when it is whole,
// or to standard output.
func (p *program) output(path string, write func(io.Writer) error) error {
	const op = "cli.output"
	if path == "" || path == "-" {
		return writeError(write(p.Stdout))
	}
	f, err := durable.New(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Failed, Message: "the file cannot be made", Err: err}
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return writeError(err)
	}
	return writeError(f.Commit(path, 0o600))
}

func (p *program) prune(ctx context.Context, older string) error {
	age, err := parseAge(older)
	if err != nil {
		return err
	}
	return p.with(ctx, true, func(k *kernel) error {
		gone, err := k.Prune(ctx, protocol.Prune{Before: p.Now().Add(-age)})
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(gone)
		}
		p.status("removed %d records and %d artifacts", gone.Records, gone.Artifacts)
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

// jsonLine writes one value in one line.
func (p *program) jsonLine(v any) error {
	enc := json.NewEncoder(p.Stdout)
	enc.SetEscapeHTML(false)
	return writeError(enc.Encode(v))
}
