package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/setup/layout"
	"callgate/internal/cli/text"
	"callgate/internal/version"
)

// upgrade is upgrade.
type upgrade struct{ *command.Env }

func newUpgrade(e *command.Env) *cobra.Command {
	u := &upgrade{e}
	return e.Leaf(&cobra.Command{
		Use: "upgrade", Short: "Say how to upgrade, what runs now, and what a version changes in the state",
		Long: `Say which version this program is and which the kernel has, how to put a newer one in
its place, and what upgrading changes in the state directory. Nothing is changed, and
nothing is asked of the network.`,
		Args: cobra.NoArgs,
	}, u.run)
}

// upgradeReport is what upgrade writes with --json.
type upgradeReport struct {
	Program       string         `json:"program"`
	Version       string         `json:"version"`
	KernelVersion string         `json:"kernel_version,omitempty"`
	KernelPID     int            `json:"kernel_pid,omitempty"`
	Restart       bool           `json:"restart"` // the kernel runs something else than this program
	Package       string         `json:"package,omitempty"`
	How           []string       `json:"how"`
	Notes         []version.Note `json:"notes"`
}

func (u *upgrade) run(ctx context.Context, _ []string) error {
	h, err := look(u.Env)
	if err != nil {
		return err
	}
	r := upgradeReport{
		Program: h.program, Version: version.Version, Package: layout.Package(h.Program), Notes: version.Notes(),
	}
	if k := h.kernel(ctx); k != nil {
		r.KernelVersion, r.KernelPID = k.Version, k.PID
		r.Restart = k.Version != version.Version || replaced(k.PID, h.Program)
	}
	r.How = how(r.Package, layout.Prefix(h.program))
	if u.JSON {
		return u.WriteJSON(r)
	}
	return u.show(r)
}

// how is how a newer version takes this one's place.
func how(pack, prefix string) []string {
	install := "put the new program in the place of this one"
	switch {
	case pack == "deb":
		install = "sudo dpkg -i callgate_VERSION_ARCH.deb"
	case pack == "rpm":
		install = "sudo rpm -U callgate-VERSION.ARCH.rpm"
	case prefix != "":
		install = "make install PREFIX='" + strings.ReplaceAll(prefix, "'", `'\''`) + "'   # in a checkout of the new version"
	}
	return []string{
		install,
		"callgate down              # the kernel ends after its running calls; the next command starts the new one",
		"callgate service install   # if there is a service: it starts the new program",
		"callgate doctor",
	}
}

func (u *upgrade) show(r upgradeReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "program  %s, version %s\n", r.Program, r.Version)
	switch {
	case r.KernelPID == 0:
		b.WriteString("kernel   none runs\n")
	case r.Restart:
		fmt.Fprintf(&b, "kernel   process %d, version %s: another program than this one; callgate down ends it\n",
			r.KernelPID, r.KernelVersion)
	default:
		fmt.Fprintf(&b, "kernel   process %d, version %s\n", r.KernelPID, r.KernelVersion)
	}
	fmt.Fprintf(&b, "\nTo upgrade:\n\n  %s\n", strings.Join(r.How, "\n  "))
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n\n%s\n", n.Title, n.Text)
	}
	return u.Print(text.Safe(b.String()))
}
