package sandbox

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/netproxy"
	"callgate/internal/sandbox/seccomp"
)

// program makes the list of everything that happens between the fork and the
// command, for a machine that can do what the report says.
func (s *Spec) program(machine Report, l *layout, env []string) *launcher.Program {
	p := &launcher.Program{
		Init: machine.Namespaces, Processes: positive(s.Limits.Processes), Memory: positive(s.Limits.Memory),
	}
	std := s.given()
	std.addFiles(p, s.Host != nil)
	if s.proxied(machine) {
		netproxy.Add(p)
	}
	p.Step("begin a session")
	p.Call(unix.SYS_SETSID)
	if machine.Namespaces {
		addView(p, l, s.Limits.Temp, machine.Proc)
		s.Limits.addProcessLimit(p, machine)
	}
	p.Step("enter ", s.Dir)
	p.Call(unix.SYS_CHDIR, p.Text(s.Dir))
	s.Limits.addRlimits(p, machine)
	addNoPrivileges(p)
	if machine.Landlock > 0 {
		addLandlock(p, machine.Landlock, s.Network || machine.Namespaces, landlockRules(machine, l))
	}
	if machine.Seccomp {
		addFilter(p, s.seccomp(machine))
	}
	if machine.Namespaces { // no process of the run may read the memory of init
		p.Call(unix.SYS_PRCTL, launcher.Int(unix.PR_SET_DUMPABLE), launcher.Int(0))
	}
	p.Fork = p.Calls()
	closeFrom := HostFD
	if s.Host != nil {
		closeFrom++
	}
	p.Step(runStep, s.Argv[0])
	addSignals(p)
	std.addNull(p)
	p.CallIgnoreError(unix.SYS_CLOSE_RANGE,
		launcher.Int(closeFrom), launcher.Int(math.MaxUint32), launcher.Int(unix.CLOSE_RANGE_CLOEXEC))
	p.Call(unix.SYS_EXECVE, p.Text(s.executable()), p.Texts(s.Argv), p.Texts(env))
	return p
}

// addSignals gives the command the signals as a program expects them: none blocked, and the default action for those
// that this process may have been started to ignore, as by nohup or by a script that runs it in the background. The
// helper's own handlers end with it, but what is ignored stays so.
func addSignals(p *launcher.Program) {
	const setMask, maskSize = 2, 8
	byDefault := p.Bytes(words(0, 0, 0, 0)) // a struct sigaction
	for _, s := range []unix.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
	} {
		p.Call(unix.SYS_RT_SIGACTION, launcher.Int(int(s)), byDefault, launcher.Int(0), launcher.Int(maskSize))
	}
	p.Call(unix.SYS_RT_SIGPROCMASK, launcher.Int(setMask), p.Bytes(words(0)), launcher.Int(0), launcher.Int(maskSize))
}

// standardFiles says which of the three standard files a run is given.
type standardFiles [3]bool

func (s *Spec) given() standardFiles {
	return standardFiles{s.Stdin != nil, s.Stdout != nil, s.Stderr != nil}
}

// addFiles receives the standard files that were sent. The lowest free
// descriptors are used first, so they replace the null device. One more, with all three of
// them, takes the place of the control socket, which the child does not use.
func (f standardFiles) addFiles(p *launcher.Program, host bool) {
	p.Step("take the standard files")
	last, count := 0, 0
	for fd, given := range f {
		if given {
			p.Call(unix.SYS_CLOSE, launcher.Int(fd))
			last, count = fd, count+1
		}
	}
	if host {
		p.Call(unix.SYS_CLOSE, launcher.Int(HostFD))
		last, count = HostFD, count+1
	}
	if count == 0 {
		return
	}
	const descriptor = 4
	control := make([]byte, unix.CmsgSpace(count*descriptor))
	buffer := p.Bytes(words(0, 1)) // struct iovec: where, and for how much; one byte comes with them
	p.Link(buffer, p.Bytes(make([]byte, 1)))
	message := p.Bytes(words(0, 0, 0, 1, 0, uint64(len(control)), 0)) // struct msghdr
	p.Link(message.Offset(16), buffer)
	p.Link(message.Offset(32), p.Bytes(control))
	p.Call(unix.SYS_RECVMSG, launcher.Int(launcher.FilesFD), message, launcher.Int(0))
	p.Call(unix.SYS_FCNTL, launcher.Int(last), launcher.Int(unix.F_GETFD)) // all of them came
}

// addNull opens the null device, where the run is given no file, again
// from inside: a file that was opened outside could not be opened once more by
// its name in /dev/fd.
func (f standardFiles) addNull(p *launcher.Program) {
	const slot = 0
	for fd, given := range f {
		if !given {
			p.CallKeep(slot, unix.SYS_OPENAT,
				launcher.Int(atCWD), p.Text(os.DevNull), launcher.Int(unix.O_RDWR|unix.O_CLOEXEC), launcher.Int(0))
			p.Call(unix.SYS_DUP3, launcher.Slot(slot), launcher.Int(fd), launcher.Int(0))
		}
	}
}

// runStep begins the name of the one step whose failure is the command's.
const runStep = "run "

func positive[T int | int64](v T) uint64 { return uint64(max(v, 0)) }

// addProcessLimit bounds the process numbers of root's namespace, since the
// kernel counts processes for everyone but root; then /proc is for reading.
func (l Limits) addProcessLimit(p *launcher.Program, machine Report) {
	if !machine.Proc {
		return
	}
	const slot, reserved = 0, 300
	// Before 6.14 this number was the whole machine's.
	if os.Geteuid() == 0 && l.Processes > 0 && kernelAtLeast(6, 14) {
		most := strconv.Itoa(l.Processes + reserved)
		p.Step("limit processes")
		p.CallKeep(slot, unix.SYS_OPENAT, launcher.Int(atCWD), p.Text("/proc/sys/kernel/pid_max"),
			launcher.Int(unix.O_WRONLY|unix.O_CLOEXEC), launcher.Int(0))
		p.CallIgnoreError(unix.SYS_WRITE, launcher.Slot(slot), p.Text(most), launcher.Int(len(most)))
		p.Call(unix.SYS_CLOSE, launcher.Slot(slot))
	}
	(&view{Program: p}).attributes(atCWD, "/proc", 0, unix.MOUNT_ATTR_RDONLY)
}

// addRlimits sets the limits of each process, none of them above this process's
// own.
func (l Limits) addRlimits(p *launcher.Program, machine Report) {
	p.Step("set limits")
	for _, r := range l.rlimits(machine) {
		var now unix.Rlimit
		if unix.Getrlimit(r.resource, &now) == nil {
			r.most = min(r.most, now.Max)
		}
		p.Call(unix.SYS_PRLIMIT64, launcher.Int(0), launcher.Int(r.resource), p.Bytes(words(r.most, r.most)), launcher.Int(0))
	}
}

type rlimit struct {
	resource int
	most     uint64
}

// rlimits are the limits that the kernel keeps for each process.
func (l Limits) rlimits(machine Report) []rlimit {
	list := []rlimit{{unix.RLIMIT_CORE, 0}}
	add := func(resource int, most int64) {
		if most > 0 {
			list = append(list, rlimit{resource, uint64(most)})
		}
	}
	add(unix.RLIMIT_FSIZE, l.FileSize)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles))
	add(unix.RLIMIT_CPU, int64((l.CPU+time.Second-1)/time.Second))
	if l.mapped {
		add(unix.RLIMIT_DATA, l.Memory)
	}
	// Processes are counted by user: in a namespace of its own the run's alone,
	// elsewhere everything the user has.
	if machine.Namespaces && kernelAtLeast(5, 14) {
		add(unix.RLIMIT_NPROC, int64(l.Processes))
	}
	return list
}

// addNoPrivileges gives up, for good, what could undo the sandbox. Of root's
// capabilities only those over files are left, and no_new_privs keeps a program
// from regaining the rest.
func addNoPrivileges(p *launcher.Program) {
	p.Step("give up privileges")
	zero := launcher.Int(0)
	p.Call(unix.SYS_PRCTL, launcher.Int(unix.PR_SET_NO_NEW_PRIVS), launcher.Int(1), zero, zero, zero)
	p.CallIgnoreError(unix.SYS_PRCTL,
		launcher.Int(unix.PR_CAP_AMBIENT), launcher.Int(unix.PR_CAP_AMBIENT_CLEAR_ALL), zero, zero, zero)
	kept := uint64(0)
	if os.Geteuid() == 0 {
		kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID
		if now, err := capabilities(); err == nil {
			kept &= now
		}
	}
	header := p.Bytes(words(unix.LINUX_CAPABILITY_VERSION_3))
	// Twice effective, permitted and inheritable: the low half, then the high.
	sets := p.Bytes(words(kept|kept<<32, 0, 0))
	p.Call(unix.SYS_CAPSET, header, sets)
}

// capabilities reads those permitted to this process, the low half.
func capabilities() (uint64, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return uint64(data[0].Permitted), err
}

// seccomp says what the filter permits. Where the view shows only the run's own
// sockets, and the abstract ones are separate too, unix sockets are harmless;
// elsewhere they could reach anybody's.
func (s *Spec) seccomp(machine Report) seccomp.Config {
	own := machine.Namespaces && (!s.Network || s.proxied(machine))
	return seccomp.Config{
		Inet:     s.Network || own,
		Unix:     own || machine.Namespaces && machine.Landlock >= 6,
		Truncate: machine.Namespaces || machine.Landlock >= 3,
	}
}

// addFilter adds the call that puts the process under a filter, for good.
func addFilter(p *launcher.Program, c seccomp.Config) {
	code, instructions := seccomp.Code(c)
	program := p.Bytes(words(uint64(instructions), 0)) // struct sock_fprog: the number of instructions, and their address
	p.Link(program.Offset(8), p.Bytes(code))
	p.Step("take on the system call filter")
	p.Call(unix.SYS_SECCOMP, launcher.Int(unix.SECCOMP_SET_MODE_FILTER), launcher.Int(0), program)
}

// landlockRules are the Landlock rules of a layout.
func landlockRules(machine Report, l *layout) []rights {
	var list []rights
	add := func(path string, allow uint64) { list = append(list, rights{mountEntry{path: path}, allow}) }
	if machine.Namespaces { // all there is to see may be seen
		add("/", rightsRead)
		add("/dev", rightsOfDevice)
		add("/tmp", rightsRead|rightsWrite)
		add("/dev/shm", rightsRead|rightsWrite)
		if l.hasOwnVarTmp() {
			add(varTmp, rightsRead|rightsWrite)
		}
	} else {
		for _, node := range devices {
			add(node, rightsOfDevice)
		}
		add("/proc", unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR)
	}
	for _, q := range l.places {
		switch {
		case q.kind != folder && q.kind != file:
		case q.write && q.kind == file:
			list = append(list, rights{q, (rightsRead | rightsWrite) & rightsOfFile})
		case q.write:
			list = append(list, rights{q, rightsRead | rightsWrite})
		case machine.Namespaces:
		case q.path == "/etc" && os.Geteuid() == 0:
			for _, path := range entriesBut(q.path, rootSecrets) {
				list = append(list, entryRights(path))
			}
		case q.kind == file:
			list = append(list, rights{q, rightsRead & rightsOfFile})
		default:
			list = append(list, rights{q, rightsRead})
		}
	}
	return list
}

// entriesBut lists a folder without the entries at or above the paths in out.
func entriesBut(dir string, out []string) []string {
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !slices.ContainsFunc(out, func(o string) bool { return within(o, path) }) && e.Type()&os.ModeSymlink == 0 {
			list = append(list, path)
		}
	}
	return list
}

func entryRights(path string) rights {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return rights{mountEntry{path: path}, rightsRead}
	}
	return rights{mountEntry{path: path}, rightsRead & rightsOfFile}
}

// kernelAtLeast compares the version of the running kernel.
func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	parts := strings.SplitN(unix.ByteSliceToString(u.Release[:]), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(strings.TrimRight(parts[1], "-+abcdefghijklmnopqrstuvwxyz"))
	return err == nil && err2 == nil && (a > major || a == major && b >= minor)
}

func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 4 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}
