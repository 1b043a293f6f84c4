package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/sys/unix"

	"callgate/internal/sandbox"
)

// canBox reports whether Callgate's sandbox can hold a browser. Without namespaces it
// could not: a browser needs sockets of its own, and the filter that stands alone then
// forbids all of them.
func canBox() bool { return sandbox.Probe().Namespaces }

// boxSystem is what a boxed browser sees of the system: programs and their libraries,
// fonts, certificates, the time, and the names of users. Not /etc as a whole: root can
// read there what nobody else can.
var boxSystem = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/run/current-system",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/fonts", "/etc/ssl/certs",
	"/etc/ca-certificates", "/etc/pki/tls/certs", "/var/lib/ca-certificates", "/var/cache/fontconfig", "/etc/localtime",
	"/etc/timezone", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/mime.types",
	"/etc/chromium", "/etc/chromium.d", "/etc/chromium-browser", "/etc/opt/chrome",
}

// boxSpec is the sandbox of a browser that has a folder of its own.
func boxSpec(path, folder string, args []string) sandbox.Spec {
	env := environment(folder, false)
	for i, pair := range env {
		if list, ok := strings.CutPrefix(pair, "PATH="); ok {
			env[i] = "PATH=" + systemPath(list)
		}
	}
	return sandbox.Spec{
		// The two pipes that Chromium expects are one socket.
		Argv: append([]string{"/bin/sh", "-c", `exec "$0" "$@" 4>&3`, path}, args...),
		Dir:  folder, Env: env, Workspace: folder, System: boxSystem, Readable: installed(path),
		Limits: sandbox.Limits{Memory: -1, Processes: -1}, // as of a browser without this sandbox
		Grace:  50 * time.Millisecond,
	}
}

// inSystem reports whether a path is one that a boxed browser sees anyway.
func inSystem(path string) bool {
	return slices.ContainsFunc(boxSystem, func(s string) bool { return path == s || strings.HasPrefix(path, s+"/") })
}

// systemPath is the part of a list of folders that a boxed browser sees: the others would
// be shown to it for the programs in them.
func systemPath(list string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !inSystem(filepath.Clean(dir)) })
	return strings.Join(append(dirs, "/usr/bin", "/bin"), string(filepath.ListSeparator))
}

// installed is what a browser needs that is installed elsewhere: its folder, unless that
// holds more than a program, as a home does.
func installed(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	var list []string
	for _, one := range []string{path, real} {
		if inSystem(one) {
			continue
		}
		home, _ := os.UserHomeDir()
		dir := filepath.Dir(one)
		if strings.Count(dir, "/") < 2 || dir == home || strings.HasPrefix(home, dir+"/") {
			dir = one
		}
		list = append(list, dir)
	}
	return list
}

// startBoxed starts the program in Callgate's sandbox, with one socket for its commands
// and messages, and a network in which only its proxies are.
func (p *Process) startBoxed(args []string) error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(ends[1]), "browser")
	defer theirs.Close()
	_ = unix.SetNonblock(ends[0], true) // ours alone, so that a read ends when it is closed
	ours := os.NewFile(uintptr(ends[0]), "browser")
	read, write, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		return err
	}
	defer write.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		_, _ = ours.Close(), read.Close()
		return err
	}
	defer null.Close()

	p.gates = newGates()
	spec := boxSpec(p.path, p.folder.path, args)
	spec.Stdin, spec.Stdout, spec.Stderr = null, write, write
	spec.NetworkAccess = sandbox.NetworkAccess{Network: true, Proxy: p.gates.serve, Host: theirs}
	started := make(chan error, 2)
	spec.Started = func(sandbox.Running) { started <- nil }
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	go func() {
		defer close(p.done)
		_, p.lost = sandbox.Run(ctx, spec)
		started <- p.lost
	}()
	if err := <-started; err != nil {
		cancel()
		<-p.done
		_, _ = ours.Close(), read.Close()
		return err
	}
	p.output.from = read
	go p.output.read()
	p.pipe = chromedp.NewPipeConn(ours, ours)
	return nil
}

// runBoxed runs the program in Callgate's sandbox, without any network, until it ends.
func runBoxed(ctx context.Context, path, folder string, args []string, stdout, stderr io.Writer) error {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	spec := boxSpec(path, folder, args)
	spec.Argv[2] = `exec "$0" "$@"`
	spec.Stdout, spec.Stderr = stdout, stderr
	exit, err := sandbox.Run(ctx, spec)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit status %d %s", exit.Code, exit.Signal)
	}
	return err
}
