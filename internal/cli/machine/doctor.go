package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/doctor"
	"callgate/internal/cli/render"
	"callgate/internal/cli/setup"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

// diagnose is doctor.
type diagnose struct{ *command.Env }

func newDoctor(e *command.Env) *cobra.Command {
	d := &diagnose{e}
	return e.Leaf(&cobra.Command{
		Use: "doctor", Short: "Check this machine: what is installed, what is missing, how to get it",
		Long: "Check this machine and the state directory. The exit code is 0 unless something\n" +
			"that Callgate needs is broken; what is optional is marked.",
		Args: cobra.NoArgs,
	}, d.run)
}

// doctorReport is what doctor writes with --json.
type doctorReport struct {
	Healthy bool           `json:"healthy"`
	Checks  []doctor.Check `json:"checks"`
}

func (d *diagnose) run(ctx context.Context, _ []string) error {
	dir, err := d.StateDir()
	if err != nil {
		return err
	}
	storage, err := d.storage(dir)
	if err != nil {
		return err
	}
	report := doctorReport{Healthy: true, Checks: slices.Concat(
		[]doctor.Check{{Group: doctor.GroupCallgate, Name: "version", State: doctor.OK, Found: thisBuild().String()}},
		d.kernel(ctx, dir, storage), d.appFiles(), setup.Checks(ctx, d.Env),
		doctor.Directory(dir, storage), doctor.Programs(ctx), doctor.Sandbox(ctx),
	)}
	for _, c := range report.Checks {
		report.Healthy = report.Healthy && c.State != doctor.Broken
	}
	if d.JSON {
		err = d.WriteJSON(report)
	} else {
		err = d.show(report)
	}
	if err == nil && !report.Healthy {
		return command.Exit(command.ExitFailed)
	}
	return err
}

// storage is the URL of the database that is shared with other machines; "": there is none.
func (d *diagnose) storage(dir statedir.Dir) (string, error) {
	storage, err := d.Storage()
	if err != nil || storage != "" {
		return storage, err
	}
	return dir.ReadDatabaseURL()
}

// kernel checks the kernel that runs. When none runs and there is a database,
// one is started for a moment: the check is that it starts.
func (d *diagnose) kernel(ctx context.Context, dir statedir.Dir, storage string) []doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "kernel", State: doctor.OK}
	socket := client.Unix(dir.Socket())
	if conn, err := socket(ctx); err == nil {
		_ = conn.Close()
	} else if _, none := os.Stat(dir.Database()); errors.Is(none, fs.ErrNotExist) && storage == "" &&
		tool.KindOf(err) != tool.Denied {
		c.Found = "not running; commands run one of their own"
		return []doctor.Check{c}
	}
	start := time.Now()
	var head doctor.Check
	var sources []doctor.Check
	err := d.With(ctx, func(k *command.Kernel) error {
		status, err := k.Status(ctx)
		if err != nil {
			return err
		}
		tools := amount.Of(status.Tools, "tool")
		c.Found = fmt.Sprintf("process %d, version %s, %s, %s, up for %s", status.PID, status.Version, tools,
			amount.Of(status.Sessions, "session"), text.Duration(time.Since(status.Started)))
		if k.InProcess() {
			c.Found = fmt.Sprintf("not running; it starts, in %s, with %s", text.Duration(time.Since(start)), tools)
		}
		if len(status.Warnings) > 0 {
			c.State = doctor.Broken
			c.Fix = strings.Join(status.Warnings, "\n                     ")
		} else if len(status.Problems) > 0 {
			c.State = doctor.Warning
			c.Fix = fmt.Sprintf("%s with tools that are missing or old: %s",
				amount.Of(len(status.Problems), "source"), status.Problems[0])
		}
		if status.Doubts > 0 && c.State == doctor.OK {
			c.State = doctor.Warning
			c.Fix = amount.Of(status.Doubts, "call") + " in doubt: callgate log doubts lists them"
		}
		head, sources = d.journal(ctx, k), slices.Concat(d.nodes(ctx, k), d.sources(ctx, k))
		return nil
	})
	if err != nil {
		c.State, c.Found = doctor.Broken, "it does not answer: "+err.Error()
		var silent *liveness.NoAnswerError
		if errors.As(err, &silent) {
			c.Found = silent.Error()
		}
		if tool.KindOf(err) == tool.Denied {
			c.Found = "not used: " + err.Error()
		}
		c.Fix = fmt.Sprintf("process %d last held the state directory", dir.Holder())
		var e *tool.Error
		if errors.As(err, &e) && e.Hint != "" {
			c.Fix = e.Hint
		}
		return []doctor.Check{c}
	}
	return append([]doctor.Check{c, head}, sources...)
}

// nodes checks the machines that share the database.
func (d *diagnose) nodes(ctx context.Context, k *command.Kernel) []doctor.Check {
	list, err := client.Nodes(ctx, k.Client)
	if err != nil {
		return []doctor.Check{{Group: doctor.GroupCallgate, Name: "nodes", State: doctor.Warning, Found: err.Error()}}
	}
	return doctor.Nodes(list)
}

// journal reads the newest record. log verify checks the whole chain.
func (d *diagnose) journal(ctx context.Context, k *command.Kernel) doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "journal", State: doctor.OK}
	records, err := k.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 1})
	switch {
	case err != nil:
		c.State, c.Found, c.Fix = doctor.Broken, err.Error(), "callgate log verify shows what is damaged"
	case len(records) == 0:
		c.Found = "empty"
	default:
		c.Found = fmt.Sprintf("ends at record %d, %s ago; callgate log verify checks all of it",
			records[0].Seq, text.Duration(d.Now().Sub(records[0].Time)))
	}
	return c
}

// show writes the checks, group by group.
func (d *diagnose) show(report doctorReport) error {
	s := d.Style(d.Stdout)
	group := ""
	for _, c := range report.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintln(d.Stdout, s.Strong(group))
		}
		fmt.Fprintf(d.Stdout, "  %s %-16s %s\n", mark(s, c.State), c.Name, text.Safe(summary(c)))
		if c.Fix != "" {
			fmt.Fprintf(d.Stdout, "    %-16s %s\n", "", s.Faint(text.Safe(c.Fix)))
		}
	}
	_, err := fmt.Fprintf(d.Stdout, "\n%s\n", verdict(s, report))
	return command.WriteError(err)
}

// verdict sums the checks up in a line.
func verdict(s render.Style, report doctorReport) string {
	named := func(state doctor.State) string {
		var names []string
		for _, c := range report.Checks {
			if c.State == state {
				names = append(names, c.Name)
			}
		}
		return strings.Join(names, ", ")
	}
	if broken := named(doctor.Broken); broken != "" {
		return s.Bad("broken: " + broken)
	}
	if warned := named(doctor.Warning); warned != "" {
		return "Callgate runs here; not everything works as it should: " + warned
	}
	return "everything that is needed is here"
}

func mark(s render.Style, state doctor.State) string {
	switch state {
	case doctor.OK:
		return "✓"
	case doctor.Missing:
		return "–"
	case doctor.Warning:
		return "!"
	default:
		return s.Bad("✗")
	}
}

// summary says what was found, or what a missing thing would be for.
func summary(c doctor.Check) string {
	if c.State != doctor.Missing {
		return c.Found
	}
	text := "optional, for " + c.Purpose
	if c.Found != "" {
		text = c.Found + "; " + text
	}
	return text
}
