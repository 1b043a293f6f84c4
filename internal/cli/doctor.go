package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/doctor"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

func (p *program) doctorCommand() *cobra.Command {
	c := p.leaf("doctor", "Say what is installed, what is missing and how to get it", "", cobra.NoArgs, p.doctor)
	c.Long = "Look at this machine and at the state directory. The exit code is 0 unless\nsomething that Callgate needs is broken; what is optional is marked so."
	return c
}

// doctorReport is what doctor says with --json.
type doctorReport struct {
	Healthy bool           `json:"healthy"`
	Checks  []doctor.Check `json:"checks"`
}

func (p *program) doctor(ctx context.Context, _ []string) error {
	dir, err := p.stateDir()
	if err != nil {
		return err
	}
	checks := []doctor.Check{{Group: doctor.GroupCallgate, Name: "version", State: doctor.OK, Found: thisBuild().String()}}
	checks = append(checks, p.kernelChecks(ctx, dir)...)
	checks = append(checks, doctor.Directory(dir)...)
	checks = append(checks, doctor.Programs(ctx)...)
	checks = append(checks, doctor.Sandbox()...)
	result := doctorReport{true, checks}
	for _, c := range checks {
		result.Healthy = result.Healthy && c.State != doctor.Broken
	}
	if p.json {
		err = p.writeJSON(result)
	} else {
		err = p.showChecks(result)
	}
	if err == nil && !result.Healthy {
		return ended(exitFailed)
	}
	return err
}

// kernelChecks asks the kernel that runs. When none does, and there is a
// database, one is started for a moment: that it starts is the check.
func (p *program) kernelChecks(ctx context.Context, dir statedir.Dir) []doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "kernel", State: doctor.OK}
	socket := client.Unix(dir.Socket())
	if conn, err := socket(ctx); err == nil {
		_ = conn.Close()
	} else if _, err := os.Stat(dir.Database()); errors.Is(err, fs.ErrNotExist) {
		c.Found = "not running; a command that finds none is one for a while"
		return []doctor.Check{c}
	}
	start := time.Now()
	var head doctor.Check
	err := p.with(ctx, false, func(k *kernel) error {
		status, err := k.Status(ctx)
		if err != nil {
			return err
		}
		c.Found = fmt.Sprintf("process %d, version %s, %d tools, %d sessions, up for %s", status.PID, status.Version, status.Tools, status.Sessions, render.Duration(time.Since(status.Started)))
		if k.inProcess() {
			c.Found = fmt.Sprintf("not running; it starts, in %s, with %d tools", render.Duration(time.Since(start)), status.Tools)
		}
		if len(status.Problems) > 0 {
			c.State, c.Fix = doctor.Warning, fmt.Sprintf("%d sources could not bring their tools: %s", len(status.Problems), status.Problems[0])
		}
		head = p.journalCheck(ctx, k)
		return nil
	})
	if err != nil {
		c.State, c.Found = doctor.Broken, "it does not answer: "+err.Error()
		c.Fix = fmt.Sprintf("process %d last held the state directory", dir.Holder())
		var e *tool.Error
		if errors.As(err, &e) && e.Hint != "" {
			c.Fix = e.Hint
		}
		return []doctor.Check{c}
	}
	return []doctor.Check{c, head}
}

// journalCheck reads the newest record. The whole chain is log verify's.
func (p *program) journalCheck(ctx context.Context, k *kernel) doctor.Check {
	c := doctor.Check{Group: doctor.GroupCallgate, Name: "journal", State: doctor.OK, Fix: ""}
	records, err := k.Journal(ctx, protocol.JournalQuery{Newest: true, Limit: 1})
	switch {
	case err != nil:
		c.State, c.Found, c.Fix = doctor.Broken, err.Error(), "callgate log verify says what is damaged"
	case len(records) == 0:
		c.Found = "empty"
	default:
		c.Found = fmt.Sprintf("ends at record %d, %s ago; callgate log verify proves it whole", records[0].Seq, render.Duration(p.Now().Sub(records[0].Time)))
	}
	return c
}

// showChecks writes the checks, group by group.
func (p *program) showChecks(result doctorReport) error {
	s := p.style(p.Stdout)
	group := ""
	for _, c := range result.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintln(p.Stdout, s.Strong(group))
		}
		fmt.Fprintf(p.Stdout, "  %s %-16s %s\n", mark(s, c.State), c.Name, render.Safe(about(c)))
		if c.Fix != "" {
			fmt.Fprintf(p.Stdout, "    %-16s %s\n", "", s.Faint(render.Safe(c.Fix)))
		}
	}
	verdict := "all that is needed is here"
	if !result.Healthy {
		i := slices.IndexFunc(result.Checks, func(c doctor.Check) bool { return c.State == doctor.Broken })
		verdict = s.Bad("broken: " + result.Checks[i].Name)
	}
	_, err := fmt.Fprintf(p.Stdout, "\n%s\n", verdict)
	return writeError(err)
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

// about says what was found, or what a missing thing would be for.
func about(c doctor.Check) string {
	if c.State != doctor.Missing {
		return c.Found
	}
	text := "optional, for " + c.Purpose
	if c.Found != "" {
		text = c.Found + "; " + text
	}
	return text
}
