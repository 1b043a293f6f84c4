package setup

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/setup/service"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/tool"
)

// install is service install.
type install struct {
	*command.Env
	yes bool
}

func newInstall(e *command.Env) *cobra.Command {
	i := &install{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "install", Short: "Have the kernel run from when you log in",
		Long: `Write the service file, start the service, and have it started when you log in. A kernel
that runs now is ended first. The service finds programs in today's PATH; keys that it
needs are set with callgate secrets, because it does not see your shell's environment.
Where nobody can be told to start it, the file is written, and what to type is said.

A person does this: you type a code at the terminal.`,
		Example: "  callgate service install\n  callgate --state /srv/team service install", Args: cobra.NoArgs,
	}, i.run)
	c.Flags().BoolVar(&i.yes, "yes", false, "install without asking; at a terminal the code is still to be typed")
	i.BindToken(c)
	return c
}

// kept are the variables of the user's environment that a service has.
func kept() []string { return []string{"PATH", "XDG_CONFIG_HOME", "CALLGATE_KEYRING"} }

func (i *install) run(ctx context.Context, _ []string) error {
	h, err := look(i.Env)
	if err != nil {
		return err
	}
	if h.none != nil {
		return h.none
	}
	if h.program == "" {
		return tool.Errorf("cli.service", tool.Unavailable, "this program does not know where it is").
			WithHint("start it by its path")
	}
	spec := service.Spec{Name: h.serviceName(), Program: h.program, State: h.dir.String()}
	for _, name := range kept() {
		if value := i.Getenv(name); value != "" {
			spec.Env = append(spec.Env, service.Variable{Name: name, Value: value})
		}
	}
	if _, err := h.manager.Text(spec); err != nil {
		return err
	}
	i.Status("the service %s runs this from when you log in, and again when it fails:\n\n  %s --state %s up\n",
		spec.Name, spec.Program, spec.State)
	sure := false
	err = i.WithKey(ctx, func(k *command.Kernel) error {
		sure, err = i.Consent(ctx, k, i.yes, "Install it?")
		return err
	})
	if err != nil || !sure {
		return err
	}
	if h.manager.Reachable(ctx) == "" {
		if pid, _, err := command.EndKernel(ctx, h.dir, false); err != nil {
			return err
		} else if pid != 0 {
			i.Status("the kernel that ran, process %d, has ended", pid)
		}
	}
	why, err := h.manager.Install(ctx, spec)
	if err != nil {
		return err
	}
	return i.say(ctx, h, spec, why)
}

// say tells what was done, and what is left to do.
func (i *install) say(ctx context.Context, h *host, spec service.Spec, why string) error {
	file := h.manager.File(spec.Name)
	report := struct {
		File    string   `json:"file"`
		Started bool     `json:"started"`
		Why     string   `json:"why,omitempty"`
		Start   []string `json:"start,omitempty"`
	}{File: file, Started: why == "", Why: why}
	i.Status("wrote %s", file)
	if why != "" {
		report.Start = h.manager.StartCommands(spec.Name)
		i.Status("it is not started: %s. Where it can be, type:\n\n  %s\n\nHere, callgate up runs a kernel.",
			why, strings.Join(report.Start, "\n  "))
	} else if awaitKernel(ctx, h.dir.Socket()) {
		i.Status("the service runs; callgate service status tells of it")
	} else {
		report.Started = false
		i.Status("it was started, and no kernel answers yet; callgate service status tells of it")
	}
	if i.JSON {
		return i.WriteJSON(report)
	}
	return nil
}

// startTimeout bounds how long the kernel of a service that was started is waited for.
const startTimeout = 10 * time.Second

func awaitKernel(ctx context.Context, socket string) bool {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if conn, err := client.Unix(socket)(ctx); err == nil {
			conn.Close()
			return true
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

// serviceReport is what service status says.
type serviceReport struct {
	Name string `json:"name"`
	service.State
	ProgramVersion string   `json:"program_version,omitempty"` // of the program that the file names
	KernelPID      int      `json:"kernel_pid,omitempty"`      // of the kernel that answers
	KernelVersion  string   `json:"kernel_version,omitempty"`
	Problems       []string `json:"problems"`
}

// service looks at the service of the state directory.
func (h *host) service(ctx context.Context) (serviceReport, error) {
	r := serviceReport{Name: h.serviceName(), Problems: []string{}}
	var err error
	if r.State, err = h.manager.Status(ctx, r.Name); err != nil {
		return r, err
	}
	if k := h.kernel(ctx); k != nil {
		r.KernelPID, r.KernelVersion = k.PID, k.Version
	}
	problem := func(format string, args ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, args...)) }
	switch {
	case !r.Exists:
		return r, nil
	case r.Foreign:
		problem("%s is not of Callgate's making", r.File)
		return r, nil
	case r.Changed:
		problem("%s was changed since it was written; callgate service install writes it anew", r.File)
	}
	program := r.Spec.Program
	info, err := os.Stat(program)
	switch {
	case err != nil || !runnable(info):
		problem("%s is not there any more; callgate service install names this program instead", program)
		return r, nil
	case !sameFile(program, h.Program) && h.Program != "":
		problem("the service runs %s, and this is %s", program, h.program)
	}
	if r.ProgramVersion, err = h.versionOf(ctx, program); err != nil {
		problem("%v", err)
	}
	switch restart := "callgate service install starts the new one"; {
	case r.KernelPID == 0:
	case r.ProgramVersion != "" && r.KernelVersion != r.ProgramVersion:
		problem("the kernel has version %s, the program on disk %s; %s", r.KernelVersion, r.ProgramVersion, restart)
	case r.Running && r.PID == r.KernelPID && replaced(r.PID, program):
		problem("the program was replaced since the kernel began; %s", restart)
	case r.Running && r.PID != 0 && r.PID != r.KernelPID:
		problem("process %d is the kernel, and not that of the service, %d", r.KernelPID, r.PID)
	}
	return r, nil
}

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }

// status is service status.
type status struct{ *command.Env }

func newStatus(e *command.Env) *cobra.Command {
	s := &status{e}
	return e.Leaf(&cobra.Command{
		Use: "status", Short: "Show the service: its file, whether it runs, and which version",
		Example: "  callgate service status --json", Args: cobra.NoArgs,
	}, s.run)
}

func (s *status) run(ctx context.Context, _ []string) error {
	h, err := look(s.Env)
	if err != nil {
		return err
	}
	if h.none != nil {
		return h.none
	}
	r, err := h.service(ctx)
	switch {
	case err != nil:
		return err
	case s.JSON:
		return s.WriteJSON(r)
	case !r.Exists:
		return tool.Errorf("cli.service", tool.NotFound, "there is no service %s: %s does not exist", r.Name, r.File).
			WithHint("%s service install makes it", s.Self())
	}
	return s.show(r)
}

func (s *status) show(r serviceReport) error {
	word := map[bool]string{true: "yes", false: "no"}
	enabled, running := word[r.Enabled], word[r.Running]
	if r.Manager != "" {
		enabled, running = "not known: "+r.Manager, "not known"
	} else if r.PID != 0 {
		running += ", process " + strconv.Itoa(r.PID)
	}
	kernel := "none answers"
	if r.KernelPID != 0 {
		kernel = fmt.Sprintf("process %d, version %s", r.KernelPID, r.KernelVersion)
	}
	program := r.Spec.Program
	if r.ProgramVersion != "" {
		program += ", version " + r.ProgramVersion
	}
	var b strings.Builder
	for _, line := range [][2]string{
		{"service", r.Name}, {"file", r.File}, {"program", program}, {"state", r.Spec.State},
		{"enabled", enabled}, {"running", running}, {"kernel", kernel},
	} {
		fmt.Fprintf(&b, "%-9s %s\n", line[0], text.Safe(line[1]))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "! %s\n", text.Safe(p))
	}
	return s.Print(b.String())
}

// remove is service remove.
type remove struct {
	*command.Env
	yes bool
}

func newRemove(e *command.Env) *cobra.Command {
	r := &remove{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "remove", Short: "Stop the service and remove its file",
		Long: "Stop the service and remove its file. What the kernel keeps in its state directory stays.",
		Args: cobra.NoArgs,
	}, r.run)
	c.Flags().BoolVar(&r.yes, "yes", false, "remove it without asking")
	return c
}

func (r *remove) run(ctx context.Context, _ []string) error {
	h, err := look(r.Env)
	if err != nil {
		return err
	}
	if h.none != nil {
		return h.none
	}
	name := h.serviceName()
	if _, err := os.Stat(h.manager.File(name)); err == nil {
		sure, err := r.Confirm(r.yes, "Stop the service "+name+" and remove "+h.manager.File(name)+"?")
		if err != nil || !sure {
			return err
		}
	}
	if err := h.manager.Remove(ctx, name); err != nil {
		return err
	}
	r.Status("removed %s", h.manager.File(name))
	if k := h.kernel(ctx); k != nil {
		r.Status("a kernel still runs, process %d: callgate down ends it", k.PID)
	}
	return nil
}
