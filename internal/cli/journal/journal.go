// Package journal has the commands that read, verify and prune the journal, and
// show the kernel's locks and artifacts.
package journal

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/daemon/wire"
	"callgate/internal/journal"
	"callgate/internal/journal/keyfile"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// Commands returns the commands log, locks and artifacts.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{Use: "log", Short: "Read, verify and prune the journal"}
	e.Group(group, newTail(e), newShow(e), newDoubts(e), newResolve(e), newVerify(e), newExport(e),
		newPrune(e, "prune"), newPrune(e, "retain"), newDoubt(e), newAcceptLoss(e))
	artifacts := &cobra.Command{Use: "artifacts", Short: "Read stored results"}
	return []*cobra.Command{group, newLocks(e), e.Group(artifacts, newArtifact(e, "get")), newArtifact(e, "artifact")}
}

// show is log show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show CALL|SEQ", Short: "Show all records of a call",
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
			return nil, tool.Errorf("cli.showCall", tool.NotFound, "the journal has no record %d", seq).
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
	return nil, tool.Errorf("cli.showCall", tool.NotFound, "call %s is not in the journal", tool.Truncate(what)).
		WithHint("callgate log tail --json shows calls with their IDs")
}

// verify is log verify.
type verify struct {
	*command.Env
	key            string
	allowNoTrailer bool
}

func newVerify(e *command.Env) *cobra.Command {
	v := &verify{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "verify [EXPORT]", Short: "Verify the journal, or an export of it",
		Long: `Verify the journal, or an export of it. An export ends with a trailer that says
what it holds, signed with the journal's key: records that were changed, or taken
from the head, the middle or the tail, are damage, and so is a trailer that is
missing or forged. On another machine, name the public key with --key; the
trailer of every export repeats it as "key".

At a node, which shares its database with others, the journals of all nodes are
verified: its own against the anchor on this machine, those of the others, also of
dead ones, against what this node has seen of them. --node has one node verify its
own, against the anchor on its machine.`,
		Example: "  callgate log verify\n  callgate log verify journal.jsonl",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, v.run)
	c.Flags().StringVar(&v.key, "key", "", "the public `KEY` of the journal that was exported (default this one's)")
	c.Flags().BoolVar(&v.allowNoTrailer, "allow-no-trailer", false,
		"accept an export without a trailer, whose completeness cannot be proven")
	return c
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
		err = command.WriteError(render.Reports(v.Stdout, v.Style(v.Stdout), report))
	}
	if err == nil && !report.OK() {
		return command.Exit(command.ExitDoubt)
	}
	return err
}

func (v *verify) report(ctx context.Context, args []string) (report operations.VerifiedNodes, err error) {
	if len(args) == 0 {
		err = v.With(ctx, func(k *command.Kernel) error {
			if v.Node == "" {
				report, err = client.VerifyNodes(ctx, k.Client)
			} else {
				report.VerifyReport, err = k.Verify(ctx)
			}
			return err
		})
		return report, err
	}
	in := v.Stdin
	if args[0] != "-" {
		f, err := os.Open(v.Path(args[0]))
		if err != nil {
			return report, &tool.Error{Op: "cli.verify", Kind: tool.NotFound, Message: "the export cannot be opened", Err: err}
		}
		defer f.Close()
		in = f
	}
	opts := journal.ExportOptions{AllowNoTrailer: v.allowNoTrailer}
	if opts.Key, err = v.publicKey(); err != nil {
		return report, err
	}
	found, err := journal.VerifyExport(in, opts)
	return operations.VerifiedNodes{VerifyReport: wire.VerifyReport(found)}, err
}

// publicKey is the key that --key names, or this journal's; nil when it has none.
func (v *verify) publicKey() (ed25519.PublicKey, error) {
	if v.key != "" {
		key, err := base64.StdEncoding.DecodeString(v.key)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, tool.Errorf("cli.verify", tool.Invalid, "%q is not a public key", tool.Truncate(v.key)).
				WithHint(`write it as "key" stands in the trailer of an export that you trust`)
		}
		return key, nil
	}
	dir, err := v.StateDir()
	if err != nil {
		return nil, err
	}
	return keyfile.Public(dir.JournalKey())
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
		Use: "export", Short: "Write the journal as JSON lines, which log verify can check",
		Long: `Write the journal as JSON lines. The last line is a signed trailer: the range of
records, the filter, their count, the hash of the last one, and the time.`,
		Example: "  callgate log export --output journal.jsonl", Args: cobra.NoArgs,
	}, x.run)
	c.Flags().StringVarP(&x.output, "output", "o", "", "write to `FILE` (default standard output)")
	c.Flags().StringVar(&x.query.Call, "call", "", "only the records of this `CALL`")
	c.Flags().Uint64Var(&x.query.After, "after", 0, "only records after number `SEQ`")
	return c
}

func (x *export) run(ctx context.Context, _ []string) error {
	return x.With(ctx, func(k *command.Kernel) error {
		return x.ToFile(x.output, func(w io.Writer) error { return k.Export(ctx, w, x.query) })
	})
}

// prune is log prune, and log retain as it was called before.
type prune struct {
	*command.Env
	olderThan      string
	byRule, dryRun bool
}

func newPrune(e *command.Env, name string) *cobra.Command {
	p := &prune{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: name + " --older-than AGE | --by-rule", Short: "Remove old records, and leave a signed summary",
		Example: "  callgate log prune --older-than 30d\n  callgate log prune --by-rule --dry-run",
		Args:    cobra.NoArgs, Hidden: name == "retain",
	}, p.run)
	c.Flags().StringVar(&p.olderThan, "older-than", "", "the `AGE` of the records to remove: 30d, 2w, 12h")
	c.Flags().BoolVar(&p.byRule, "by-rule", false, "remove what the block retain of your own app file no longer keeps")
	c.Flags().BoolVar(&p.dryRun, "dry-run", false, "with --by-rule: say what would go, and remove nothing")
	c.MarkFlagsOneRequired("older-than", "by-rule")
	c.MarkFlagsMutuallyExclusive("older-than", "by-rule")
	c.MarkFlagsMutuallyExclusive("older-than", "dry-run")
	return c
}

func (p *prune) run(ctx context.Context, _ []string) error {
	if p.byRule {
		return p.WithKey(ctx, func(k *command.Kernel) error { return p.retain(ctx, k) })
	}
	age, err := command.ParseAge(p.olderThan)
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
		p.Status("removed %s and %s", amount.Of(removed.Records, "record"), amount.Of(removed.Artifacts, "artifact"))
		return p.tellKept(ctx, k, p.Now().Add(-age))
	})
}

// retain removes by the rules of the user's own file.
func (p *prune) retain(ctx context.Context, k *command.Kernel) error {
	r, err := client.Retain(ctx, k.Client, operations.Retain{DryRun: p.dryRun})
	switch {
	case err != nil:
		return err
	case p.JSON:
		return p.WriteJSON(r)
	}
	did := "removed"
	if p.dryRun {
		did = "would remove, beside old tasks and artifacts that nothing names,"
	}
	p.Status("%s %s, %s, %s, %s and %s", did, amount.Of(r.Records, "record"),
		amount.Of(len(r.Conversations), "conversation"), amount.Of(r.Tasks, "task"), amount.Of(r.Artifacts, "artifact"),
		amount.Of(len(r.Logs), "old log"))
	return nil
}

// tellKept says which old records stay, because of calls in doubt.
func (p *prune) tellKept(ctx context.Context, k *command.Kernel, before time.Time) error {
	doubts, err := k.Doubts(ctx, client.DoubtQuery{})
	if err != nil {
		return err
	}
	doubts = slices.DeleteFunc(doubts, func(d protocol.Doubt) bool { return !d.Time.Before(before) })
	if len(doubts) > 0 {
		p.Status("records since the first call in doubt (%s) are kept; callgate log doubts lists such calls (%d), "+
			"and callgate log resolve lets them go", doubts[0].Call, len(doubts))
	}
	return nil
}

// locks is locks.
type locks struct{ *command.Env }

func newLocks(e *command.Env) *cobra.Command {
	l := &locks{e}
	return e.Leaf(&cobra.Command{
		Use: "locks", Short: "Show held and waiting locks",
		Long: `Show the locks that calls hold, and the calls that wait for them. The modes:

  shared             it reads; others may read too
  update             it writes, and others may read meanwhile
  exclusive          it writes; nobody else may read or write
  shared inside      it reads something inside this resource
  exclusive inside   it writes something inside this resource

A call of an MCP server is inside its server, and one that names nothing inside its
module: that is on record, and nobody waits for it.`,
		Args: cobra.NoArgs,
	}, l.run)
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

// artifact is artifacts get, and artifact as it was called before.
type artifact struct {
	*command.Env
	output string
}

func newArtifact(e *command.Env, name string) *cobra.Command {
	a := &artifact{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: name + " REF", Short: "Write an artifact to standard output or a file",
		Example: "  callgate artifacts get sha256:1f… --output result.txt",
		Args:    cobra.ExactArgs(1), Hidden: name == "artifact",
	}, a.run)
	c.Flags().StringVarP(&a.output, "output", "o", "", "write to `FILE` (default standard output)")
	return c
}

func (a *artifact) run(ctx context.Context, args []string) error {
	return a.With(ctx, func(k *command.Kernel) error {
		return a.ToFile(a.output, func(w io.Writer) error { return k.Artifact(ctx, w, args[0]) })
	})
}
