package setup

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/cli/command"
	"callgate/internal/cli/doctor"
	"callgate/internal/cli/setup/layout"
	"callgate/internal/version"
)

// Checks are what doctor says of Callgate as a program on this machine.
func Checks(ctx context.Context, e *command.Env) []doctor.Check {
	h, err := look(e)
	if err != nil || h.Program == "" {
		return nil // doctor says elsewhere what is wrong with the state directory
	}
	return slices.Concat(h.pathCheck(), h.versionCheck(ctx), h.fileChecks(), h.serviceCheck(ctx))
}

// pathCheck says which callgate a shell starts.
func (h *host) pathCheck() []doctor.Check {
	c := doctor.Check{Group: doctor.GroupInstall, Name: "path", State: doctor.OK, Found: h.program}
	found := layout.OnPath(h.Getenv("PATH"))
	switch {
	case len(found) == 0:
		c.State, c.Found = doctor.Missing, h.program+" is not in your PATH"
		c.Purpose = "starting callgate by its name"
		c.Fix = "add " + filepath.Dir(h.program) + " to PATH, or install it: see docs/guides/install.md"
	case !sameFile(found[0], h.Program):
		c.State = doctor.Warning
		c.Found = "a shell starts " + found[0] + ", and this is " + h.program
		c.Fix = "remove the one that you do not want (its own callgate uninstall), or order PATH"
	case len(found) > 1:
		c.State = doctor.Warning
		c.Found = h.program + " hides " + strings.Join(found[1:], ", ")
		c.Fix = "remove those that you do not want: clients that name them by path still start them"
	}
	return []doctor.Check{c}
}

// versionCheck compares the kernel that runs with the program on disk.
func (h *host) versionCheck(ctx context.Context) []doctor.Check {
	k := h.kernel(ctx)
	if k == nil {
		return nil
	}
	c := doctor.Check{Group: doctor.GroupInstall, Name: "kernel version", State: doctor.OK, Found: k.Version}
	switch {
	case k.Version != version.Version:
		c.State, c.Found = doctor.Warning, "the kernel has version "+k.Version+", this program "+version.Version
	case h.Program != "" && replaced(k.PID, h.Program):
		c.State, c.Found = doctor.Warning, "the kernel runs another program than this one, of the same version"
	}
	if c.State != doctor.OK {
		c.Fix = "callgate down ends it; the next command starts one of its own version"
	}
	return []doctor.Check{c}
}

// fileChecks say which completions and manual pages there are.
func (h *host) fileChecks() []doctor.Check {
	completions := doctor.Check{
		Group: doctor.GroupInstall, Name: "completions", State: doctor.Missing, Purpose: "completing commands with Tab",
		Fix: "make install, or see callgate completion --help",
	}
	manual := doctor.Check{
		Group: doctor.GroupInstall, Name: "manual", State: doctor.Missing, Purpose: "man callgate", Fix: "make install",
	}
	var shells []string
	for _, f := range layout.Find(h.Program, h.Getenv("HOME")) {
		switch f.Kind {
		case layout.Completion:
			if !slices.Contains(shells, f.Shell) {
				shells = append(shells, f.Shell)
			}
		case layout.Manual:
			if strings.TrimSuffix(filepath.Base(f.Path), ".gz") == "callgate.1" {
				manual.State, manual.Found, manual.Fix = doctor.OK, f.Path, ""
			}
		}
	}
	if len(shells) > 0 {
		completions.State, completions.Found, completions.Fix = doctor.OK, strings.Join(shells, ", "), ""
	}
	return []doctor.Check{completions, manual}
}

// serviceCheck looks at the service of the state directory.
func (h *host) serviceCheck(ctx context.Context) []doctor.Check {
	c := doctor.Check{
		Group: doctor.GroupInstall, Name: "service", State: doctor.Missing, Fix: h.Self() + " service install",
		Purpose: "a kernel that runs from when you log in",
	}
	if h.none != nil {
		return nil
	}
	r, err := h.service(ctx)
	switch {
	case err != nil:
		c.State, c.Found, c.Fix = doctor.Warning, err.Error(), ""
	case !r.Exists:
	case len(r.Problems) > 0:
		c.State, c.Found, c.Fix = doctor.Warning, r.File, strings.Join(r.Problems, "; ")
	default:
		c.State, c.Found, c.Fix = doctor.OK, r.File, ""
		switch {
		case r.Manager != "":
			c.Found += "; " + r.Manager
		case !r.Running:
			c.State, c.Fix = doctor.Warning, "it does not run: callgate service install starts it"
		}
	}
	return []doctor.Check{c}
}
