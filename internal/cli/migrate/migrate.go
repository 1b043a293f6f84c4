// Package migrate has the command that moves what a kernel keeps to a database server.
package migrate

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/dialog"
	"callgate/internal/cli/render"
	"callgate/internal/storage/moving"
	"callgate/internal/version"
	"callgate/tool"
)

const op = "cli.migrate"

// migrate is migrate.
type migrate struct {
	*command.Env
	to                   string
	dryRun, resume, back bool
	sign                 bool
}

// Commands returns the command migrate.
func Commands(e *command.Env) []*cobra.Command {
	m := &migrate{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "migrate [--to URL | --back | --sign]", Short: "Move everything that the kernel keeps from SQLite to PostgreSQL",
		Long: `Move everything that the kernel keeps in its state directory from SQLite to a
PostgreSQL database: the journal, approvals, conversations, tasks, documents and
artifacts, with their numbers and times. End the kernel first (callgate down).

What was copied is read back from the database and compared with the old file, row by
row, and the journal's chain is verified there. Only then is the kernel told to use the
database: its URL is written to the file database of the state directory, and
callgate.db becomes callgate.db.moved. Until that moment the kernel uses the old file,
whatever happens; a copy that was broken off is continued with --resume.

So that no password is in the shell's history, --to - reads the URL from standard input,
and without --to it is $CALLGATE_DATABASE. Keys, secrets and files for undo stay in the
state directory.

With --back everything is moved from the database to SQLite again, in the same way. The
database keeps what it has of this machine; it is marked as moved, and no kernel uses it.

With --sign nothing is moved: what the database holds is signed with the key of the
cluster that is placed in the state directory, so that it counts at the nodes that have
the key (callgate help cluster). It trusts what it finds: run it once, when the key is
placed for the first time, while no node runs.`,
		Example: `  callgate migrate --to postgres://ada@db.example:5432/callgate --dry-run
  callgate migrate --to - < url.txt
  callgate migrate --to - --resume < url.txt
  callgate migrate --back
  callgate migrate --sign`,
		Args: cobra.NoArgs,
	}, m.run)
	c.Flags().StringVar(&m.to, "to", "", "the `URL` of the database; - reads it from standard input")
	c.Flags().BoolVar(&m.dryRun, "dry-run", false, "only count what would be moved, and see whether the database takes it")
	c.Flags().BoolVar(&m.resume, "resume", false, "continue a copy that was broken off")
	c.Flags().BoolVar(&m.back, "back", false, "move everything from the database to SQLite in the state directory")
	c.Flags().BoolVar(&m.sign, "sign", false, "sign what the database holds with the key of the cluster")
	c.MarkFlagsMutuallyExclusive("back", "sign")
	c.MarkFlagsMutuallyExclusive("sign", "dry-run")
	c.MarkFlagsMutuallyExclusive("sign", "resume")
	c.MarkFlagsMutuallyExclusive("back", "to")
	c.MarkFlagsMutuallyExclusive("back", "dry-run")
	c.MarkFlagsMutuallyExclusive("back", "resume")
	return []*cobra.Command{c}
}

func (m *migrate) run(ctx context.Context, _ []string) error {
	dir, err := m.StateDir()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // the kernel says it again
	shown := &progress{Env: m.Env}
	migration := moving.Migration{
		State: dir, Resume: m.resume, Progress: shown.show,
		Name: cmp.Or(m.Getenv("CALLGATE_NODE"), host), Version: version.Version,
	}
	if m.sign {
		return m.signRows(ctx, migration)
	}
	run := migration.Run
	switch {
	case m.back:
		run = migration.Back
	case m.dryRun:
		run = migration.Plan
	}
	if !m.back {
		if migration.To, err = m.url(ctx); err != nil {
			return err
		}
	}
	result, err := run(ctx)
	if err != nil {
		return err
	}
	return m.write(result)
}

// signRows signs what the database holds.
func (m *migrate) signRows(ctx context.Context, migration moving.Migration) error {
	var err error
	if m.to == "" {
		migration.To, err = m.Storage()
	} else {
		migration.To, err = m.url(ctx)
	}
	if err != nil {
		return err
	}
	signed, err := migration.Sign(ctx)
	if err != nil {
		return err
	}
	if m.JSON {
		return m.WriteJSON(signed)
	}
	m.Status("%s signed with the key %s; after the next start, see who has rights: callgate token list, callgate grants list",
		amount.Of(int(signed.Rows), "row"), signed.Key)
	return nil
}

// url is the URL of the database, from where nobody else reads it if the user wants that.
func (m *migrate) url(ctx context.Context) (string, error) {
	url := m.to
	if url == "-" {
		line, err := m.readURL(ctx)
		if err != nil {
			return "", &tool.Error{Op: op, Kind: tool.Failed, Message: "standard input cannot be read", Err: err}
		}
		url = strings.TrimSpace(line)
	}
	if url != "" {
		return url, nil
	}
	url, err := m.Storage()
	if err == nil && url == "" {
		err = tool.Errorf(op, tool.Invalid, "no database is named").
			WithHint("name it with --to postgres://user:password@host:5432/name, with --to - or with CALLGATE_DATABASE")
	}
	return url, err
}

func (m *migrate) readURL(ctx context.Context) (string, error) {
	if fd, ok := command.Terminal(m.Stdin); ok {
		const ask = "the URL of the database (it is not shown): "
		line, err := dialog.ReadHidden(ctx, fd, func() { fmt.Fprint(m.Stderr, ask) })
		m.Status("")
		return string(line), err
	}
	line, err := bufio.NewReader(io.LimitReader(m.Stdin, 8<<10)).ReadString('\n')
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// progress tells a person how far a migration has come, not more often than can be read.
type progress struct {
	*command.Env
	stage moving.Stage
	last  time.Time
}

func (p *progress) show(now moving.Progress) {
	words := map[moving.Stage]string{
		moving.Counting: "counting what is there", moving.Copying: "copying", moving.Comparing: "comparing",
	}
	if now.Stage != p.stage {
		p.stage, p.last = now.Stage, time.Now()
		p.Status("%s …", words[now.Stage])
		return
	}
	if time.Since(p.last) < time.Second {
		return
	}
	p.last = time.Now()
	of := ""
	if now.Total > 0 {
		of = " of " + strconv.FormatInt(now.Total, 10)
	}
	p.Status("%s %s: %d%s", words[now.Stage], now.Store, now.Done, of)
}

func (m *migrate) write(r moving.Result) error {
	if r.Warning != "" {
		m.Status("callgate: %s", r.Warning)
	}
	if m.JSON {
		return m.WriteJSON(r)
	}
	if err := m.writeTable(r.Stores); err != nil {
		return err
	}
	switch {
	case m.dryRun && r.Moved:
		m.Status("everything is in the database already; only callgate.db is still to be renamed")
	case m.dryRun:
		m.Status("nothing was changed; without --dry-run this is moved")
	case m.back:
		m.Status("the kernel uses callgate.db in the state directory from its next start on")
	default:
		m.Status("the kernel uses the database from its next start on; the old file is %s", r.Old)
	}
	return nil
}

func (m *migrate) writeTable(lines []moving.Line) error {
	head := []string{"STORE", "ROWS", "SIZE", "DIGEST, THE SAME ON BOTH SIDES"}
	if m.dryRun {
		head = head[:3]
	}
	var rows [][]render.Cell
	for _, line := range lines {
		row := []render.Cell{
			render.Bold(line.Store), render.Plain(strconv.FormatInt(line.Rows, 10)), render.Plain(amount.Bytes(line.Bytes)),
			render.Plain(line.Digest),
		}
		rows = append(rows, row[:len(head)])
	}
	if len(rows) == 0 {
		return nil
	}
	return command.WriteError(m.Style(m.Stdout).Table(m.Stdout, head, rows))
}
