// Package process starts the Chromium that the browser tools drive, and ends
// it.
//
// # Law
//
//  1. The browser is spoken to through two pipes that only this process holds,
//     never through a port that another program of the machine could reach.
//  2. It dies with us, however we die. The system kills it when the thread
//     that started it ends (Linux), and that thread lives as long as the
//     browser; everywhere the browser ends by itself when its pipes close, and
//     its children when it does.
//  3. It leaves nothing. Its profile, its caches and its downloads lie in one
//     temporary folder, which is removed when it ends. Who holds a folder
//     holds a lock on a file in it, which goes with the process: a folder whose
//     lock is free was left by somebody who died, and the next start removes it
//     with whatever still runs in it.
//  4. It is given none of our environment but what it needs to start.
package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"callgate/tool"
)

const op = "web.browse"

// Options say which browser is started and how; the zero value is the one
// that is found, without a window.
type Options struct {
	Executable string // a name or a path; "": the first of those known that is in the PATH
	Visible    bool   // with a window
	Temp       string // where its folder is made; "": the system's
	Log        *slog.Logger
}

// Process is a browser that was started.
type Process struct {
	// Sandboxed is whether Chromium's own sandbox holds its pages.
	Sandboxed bool

	cmd    *exec.Cmd
	pipe   *chromedp.PipeConn
	output *tail
	folder *folder
	done   chan struct{}
	once   sync.Once
	closed error
}

// known are the names under which systems install it.
func known() []string {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell", "headless_shell", "chromium-headless-shell", "chrome"}
	switch runtime.GOOS {
	case "darwin":
		names = append(names, "/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
	case "windows":
		names = append(names, `C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`)
	}
	return names
}

// Find says where the browser is.
func Find(executable string) (string, error) {
	if executable != "" {
		path, err := exec.LookPath(executable)
		if err != nil {
			return "", tool.Errorf(op, tool.Unavailable, "the browser %q cannot be started: %w", tool.Truncate(executable), err).
				WithHint("mend tools.modules.web.browse.config.executable in the app file, or delete it and one that is installed is found")
		}
		return path, nil
	}
	for _, name := range known() {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", tool.Errorf(op, tool.Unavailable, "there is no Chromium on this machine").
		WithHint("install one (on Debian and Ubuntu: apt-get install chromium), or name its path in tools.modules.web.browse.config.executable")
}

// Start starts a browser. That it listens is known when it answers: see Failed.
func Start(o Options) (*Process, error) {
	path, err := Find(o.Executable)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Temp == "" {
		o.Temp = temporary()
	}
	sweep(o.Temp, o.Log)
	own, err := newFolder(o.Temp)
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "there is no place for the browser's files: %w", err).WithHint("free some space in %s", o.Temp)
	}
	p := &Process{Sandboxed: !asRoot(), folder: own, output: newTail(), done: make(chan struct{})}
	p.cmd = exec.Command(path, arguments(o, own.path, p.Sandboxed)...)
	p.cmd.Env = environment(own.path, o.Visible)
	p.cmd.Dir = own.path
	if err := p.start(); err != nil {
		return nil, errors.Join(tool.Errorf(op, tool.Unavailable, "the browser %s could not be started: %w", path, err), own.remove())
	}
	return p, nil
}

// start connects the pipes and starts the program.
func (p *Process) start() error {
	var ends [3][2]*os.File // what it reads, what it writes, what it says
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return err
		}
		ends[i] = [2]*os.File{r, w}
	}
	reads, writes, says := ends[0], ends[1], ends[2]
	p.cmd.Stdout, p.cmd.Stderr = says[1], says[1]
	if err := passPipes(p.cmd, reads[0], writes[1]); err != nil {
		closeAll(ends[:])
		return err
	}
	setProcessGroup(p.cmd)
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		closeAll(ends[:])
		return err
	}
	_, _, _ = reads[0].Close(), writes[1].Close(), says[1].Close()
	p.output.from = says[0]
	go p.output.read()
	p.pipe = chromedp.NewPipeConn(writes[0], reads[1])
	return nil
}

func closeAll(ends [][2]*os.File) {
	for _, e := range ends {
		_, _ = e[0].Close(), e[1].Close()
	}
}

// run starts the program and waits for its end on a thread of its own: the
// death of the thread that started it would be its death too.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait()
	close(p.done)
}

// Pipe is the way to speak with it.
func (p *Process) Pipe() *chromedp.PipeConn { return p.pipe }

// Folder is its own, removed when it ends. Whoever drives it may keep files
// there that belong to it.
func (p *Process) Folder() string { return p.folder.path }

// Done is closed when the browser has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Failed says why a browser did not start to answer, from what it printed.
func (p *Process) Failed(err error) error {
	select {
	case <-p.done:
		<-p.output.ended(time.Second)
	default:
	}
	said := p.output.String()
	e := &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the browser did not start", Err: err}
	if said != "" {
		e.Message += "; it said: " + said
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Hint = "the machine may be too busy: try again"
	case strings.Contains(said, "No usable sandbox"), strings.Contains(said, "SUID sandbox"):
		e.Hint = "this system forbids user namespaces to the browser's sandbox: allow them for it (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)"
	case strings.Contains(said, "Missing X server"), strings.Contains(said, "cannot open display"):
		e.Hint = "a window needs a display: set tools.modules.web.browse.config.headless to true"
	default:
		e.Hint = "try " + p.cmd.Path + " --version in a shell"
	}
	return e
}

// Close ends the browser with everything it started, and removes what it
// wrote. It returns when nothing is left.
func (p *Process) Close() error {
	p.once.Do(func() {
		endGroup(p.cmd)
		_ = p.pipe.Close()
		<-p.done
		killByFolder(p.folder.path)
		<-p.output.ended(time.Second)
		p.closed = p.folder.remove()
	})
	return p.closed
}

// environment is what the browser is given of ours: where programs are, how
// its user writes and, for a window, where the screen is. Its home is its own
// folder, so that it neither reads nor changes the user's.
func environment(dir string, visible bool) []string {
	env := []string{"HOME=" + dir, "TMPDIR=" + filepath.Join(dir, tempName), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "DBUS_SESSION_BUS_ADDRESS=disabled:"}
	names := []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT", "WINDIR", "PROGRAMFILES", "FONTCONFIG_FILE", "FONTCONFIG_PATH"}
	if visible {
		names = append(names, "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
	}
	if runtime.GOOS == "windows" {
		env = append(env, "TEMP="+filepath.Join(dir, tempName), "TMP="+filepath.Join(dir, tempName), "LOCALAPPDATA="+dir)
	}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
