package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/mask"
	"callgate/internal/sandbox/prefork"
	"callgate/internal/sandbox/signals"
	"callgate/tool"
)

// Supervises reports whether this program can be the helper that every run but an
// unconfined one needs.
func Supervises() bool { return launcher.Declared() }

// runOpen makes a run that keeps the disk and the network. With namespaces it has
// an init of its own, and nothing that it starts can leave it; without, its helper
// adopts every orphan, and kills them all at the end.
func (s *Spec) runOpen(ctx context.Context, by *prefork.Pool, machine Report) (Exit, error) {
	if !launcher.Declared() {
		return Exit{}, tool.Errorf("sandbox.Run", tool.Unavailable, "this program cannot be its own sandbox helper").
			WithHint("%s", undeclaredHint)
	}
	if s.Mode == Tracked {
		machine.Namespaces = false
	}
	var missing []string
	if !machine.Namespaces && s.Mode == Contained {
		if missing = []string{unhidden}; !s.Relaxed {
			return Exit{}, cannot(missing)
		}
	}
	var exit Exit
	var err error
	for range maxPlans {
		exit, err = s.runViaHelper(ctx, by, machine, rand.Text(), func() ([]byte, error) {
			disk := &mask.Disk{}
			if machine.Namespaces {
				var err error
				if disk, err = s.maskedDisk(); err != nil {
					return nil, err
				}
			}
			return s.openProgram(machine, disk).Encode(), nil
		})
		if setup := (setupError{}); !errors.As(err, &setup) || !s.canRepeat() {
			break
		}
	}
	exit.Level, exit.Missing = Process, missing
	return exit, err
}

// maxPlans is how often a run is planned. A mount or a socket that was to be hidden may be gone
// by the time the helper hides it; then nothing ran, and the next plan is made without it.
const maxPlans = 5

// canRepeat reports whether a run that failed before its command began has taken no input.
func (s *Spec) canRepeat() bool {
	_, file := s.Stdin.(*os.File)
	return s.Stdin == nil || file
}

// maskedDisk is the disk without what the spec hides and what a home keeps for its
// user, by every name that a mount gives them. What the spec shows of the latter
// stays, and so does the working directory.
func (s *Spec) maskedDisk() (*mask.Disk, error) {
	dir, err := filepath.EvalSymlinks(s.Dir)
	if err != nil {
		return nil, tool.Errorf("sandbox.Run", tool.NotFound, "the folder %s cannot be entered: %w", s.Dir, err)
	}
	mounts := mask.ReadMounts()
	hidden := slices.Concat(s.Hidden, mounts.Aliases(s.Hidden))
	for _, path := range hidden {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
			return nil, tool.Errorf("sandbox.Run", tool.Unavailable, "nothing runs, because %s cannot be hidden: %w", path, err).
				WithHint("the kernel's own folder was moved or removed; put it back, or stop the kernel and start it again")
		case within(dir, real) && (s.Own == "" || dir != s.Own):
			return nil, tool.Errorf("sandbox.Run", tool.Denied, "the folder %s lies inside the kernel's own", dir).
				WithHint("run it in another folder")
		}
	}
	private, shown := s.privatePaths(), slices.Concat(s.Readable, s.Writable, []string{dir})
	private = append(private, mounts.Aliases(private)...)
	kept := slices.Concat(s.ReadOnly, mounts.Aliases(s.ReadOnly))
	return mask.Plan(mask.Paths{Always: hidden, Own: s.Own, Private: private, Shown: shown, Kept: kept})
}

// privatePaths are those of the user's home, and of the home that the run is told.
func (s *Spec) privatePaths() []string {
	home, _ := os.UserHomeDir() // without one, nothing private is in it
	paths := PrivatePaths(home)
	if told := lookup(s.Env, "HOME"); told != home {
		paths = append(paths, PrivatePaths(told)...)
	}
	if os.Geteuid() == 0 {
		paths = append(paths, rootSecrets...)
	}
	return append(paths, mask.AgentSockets()...)
}

// openProgram is the program of a run that keeps the disk.
func (s *Spec) openProgram(machine Report, disk *mask.Disk) *launcher.Program {
	p := &launcher.Program{Init: machine.Namespaces}
	std := s.given()
	std.addFiles(p, false)
	p.Step("begin a session")
	p.Call(unix.SYS_SETSID)
	if machine.Namespaces {
		disk.Add(p, machine.Proc)
		if os.Geteuid() == 0 {
			addBounds(p)
		}
		p.Call(unix.SYS_PRCTL, launcher.Int(unix.PR_SET_DUMPABLE), launcher.Int(0))
	}
	p.Step("enter ", s.Dir)
	p.Call(unix.SYS_CHDIR, p.Text(s.Dir))
	p.Fork = p.Calls()
	const closeFrom = 3
	p.Step(runStep, s.Argv[0])
	addSignals(p)
	std.addNull(p)
	p.CallIgnoreError(unix.SYS_CLOSE_RANGE,
		launcher.Int(closeFrom), launcher.Int(math.MaxUint32), launcher.Int(unix.CLOSE_RANGE_CLOEXEC))
	p.Call(unix.SYS_EXECVE, p.Text(s.Argv[0]), p.Texts(s.Argv), p.Texts(s.Env))
	return p
}

// boundCaps are the capabilities that root's program can still gain: those over
// files and its own processes. None of them undoes a mount.
var boundCaps = []int{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID,
	unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_AUDIT_WRITE,
}

// addBounds takes all other capabilities of root's, for good: a program of
// another user has none once it runs.
func addBounds(p *launcher.Program) {
	p.Step("give up privileges")
	for c := range unix.CAP_LAST_CAP + 1 {
		switch {
		case c == unix.CAP_SYS_ADMIN || c == unix.CAP_SYS_PTRACE || c == unix.CAP_DAC_READ_SEARCH:
			p.Call(unix.SYS_PRCTL, launcher.Int(unix.PR_CAPBSET_DROP), launcher.Int(c))
		case !slices.Contains(boundCaps, c): // this system may not know it
			p.CallIgnoreError(unix.SYS_PRCTL, launcher.Int(unix.PR_CAPBSET_DROP), launcher.Int(c))
		}
	}
	p.CallIgnoreError(unix.SYS_PRCTL, launcher.Int(unix.PR_CAP_AMBIENT), launcher.Int(unix.PR_CAP_AMBIENT_CLEAR_ALL),
		launcher.Int(0), launcher.Int(0), launcher.Int(0))
}

// runningOf is the command of a helper. Its group is that of its init, which heeds no
// signal but those that nobody can ignore.
func runningOf(helper int, init bool) Running {
	pid := func() int { return commandPID(helper, init) }
	return Running{PID: pid, Signal: func(name string) error {
		command := pid()
		group, err := unix.Getpgid(command)
		own, _ := unix.Getpgid(helper)
		if err != nil || command == helper || group == own { // what is not the command's must not have its signals
			return tool.Errorf("sandbox.Signal", tool.Conflict, "the command does not run yet, or not any more").
				WithHint("try again, or see how it stands")
		}
		return signals.Send(group, name)
	}}
}

// commandPID finds the process of a run by its helper: its child, or with an init
// its grandchild. Where the system does not list children it is the helper.
func commandPID(helper int, init bool) int {
	pid, generations := helper, 1
	if init {
		generations = 2
	}
	for range generations {
		name := strconv.Itoa(pid)
		data, _ := os.ReadFile("/proc/" + name + "/task/" + name + "/children")
		first, _, _ := strings.Cut(string(data), " ") // orphans that were adopted come after it
		child, err := strconv.Atoi(first)
		if err != nil {
			return helper
		}
		pid = child
	}
	return pid
}
