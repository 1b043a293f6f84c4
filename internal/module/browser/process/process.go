// Package process starts and ends the Chromium that the browser tools drive.
//
// # Law
//
//  1. Commands reach the browser through two pipes that only this process holds, never
//     through a port that another program of the machine could reach.
//  2. The browser dies with this process, however that dies. On Linux the system kills
//     it when the thread that started it ends, and that thread lives as long as the
//     browser. Everywhere the browser exits when its pipes close, and its children exit
//     with it.
//  3. The browser leaves nothing. Its profile, its caches and its downloads are in one
//     temporary folder, which is removed when it ends. The owner of a folder holds a lock
//     on a file in it, which the system frees when the owner dies: a folder whose lock is
//     free has no owner, and the next start removes it with every process in it.
//  4. The browser gets only the part of our environment that it needs to start.
//  5. A sandbox confines its pages: Chromium's own, or, because Chromium has none for root,
//     Callgate's around the whole browser. There the browser sees the system's programs and
//     fonts and its own folder, has a network in which only the proxies of its profiles
//     are, can gain no rights, and is under a filter of system calls. Where neither can be
//     had the browser does not start, unless a human accepted that.
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

	"callgate/internal/launch"
	"callgate/tool"
)

const op = "web.browse"

// Options define which browser is started and how. The zero value is the one that Find
// finds, without a window.
type Options struct {
	Executable string // a name or a path; "": the first known name in the PATH
	Visible    bool   // with a window
	// Unsandboxed starts it without any sandbox, Chromium's own or Callgate's.
	Unsandboxed bool
	Temp        string // where its folder is created; "": the system's temporary folder
	Log         *slog.Logger
}

// walls is what confines the pages of a browser.
type walls int

const (
	unconfined walls = iota
	chromiums        // Chromium's own sandbox
	boxed            // Callgate's, around the whole browser
)

// consentHint says how a human accepts a browser that nothing confines.
const consentHint = "if a page that takes over the browser may have everything that Callgate has, " +
	"set tools.modules.web.browse.config.unsandboxed to true, and accept it: callgate app trust"

// walls chooses what confines the pages.
func (o Options) walls() (walls, error) {
	switch {
	case o.Unsandboxed:
		return unconfined, nil
	case !asRoot():
		return chromiums, nil
	case o.Visible:
		return 0, tool.Errorf(op, tool.Unavailable, "the browser was not started: Chromium has no sandbox for root, "+
			"and in Callgate's it has no window").
			WithHint("set tools.modules.web.browse.config.headless to true, or let Callgate run as another user; %s", consentHint)
	case !canBox():
		return 0, tool.Errorf(op, tool.Unavailable, "the browser was not started: Chromium has no sandbox for root, and "+
			"Callgate's needs user namespaces, which this machine forbids").
			WithHint("let Callgate run as another user, or permit user namespaces (callgate doctor); %s", consentHint)
	}
	return boxed, nil
}

// Process is a browser that was started.
type Process struct {
	// Sandboxed reports whether a sandbox confines its pages.
	Sandboxed bool

	path   string // of the program
	end    func() // kills it, with everything that it started
	gates  *gates // to its proxies, if it has a network of its own
	lost   error  // why it never ran; readable when done is closed
	pipe   *chromedp.PipeConn
	output *tail
	folder *folder
	done   chan struct{}
	once   sync.Once
	closed error
}

// known lists the names under which systems install Chromium.
func known() []string {
	names := []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"headless-shell", "headless_shell", "chromium-headless-shell", "chrome",
	}
	switch runtime.GOOS {
	case "darwin":
		names = append(names, "/Applications/Chromium.app/Contents/MacOS/Chromium",
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
	case "windows":
		names = append(names, `C:\Program Files\Google\Chrome\Application\chrome.exe`,
			`C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`)
	}
	return names
}

// Find returns the path of the browser.
func Find(executable string) (string, error) {
	if executable != "" {
		path, err := exec.LookPath(executable)
		if err != nil {
			return "", tool.Errorf(op, tool.Unavailable, "the browser %q cannot be started: %w", tool.Truncate(executable), err).
				WithHint("correct tools.modules.web.browse.config.executable in the app file, or delete it to use an installed one")
		}
		return path, nil
	}
	for _, name := range known() {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", tool.Errorf(op, tool.Unavailable, "there is no Chromium on this machine").
		WithHint("install one (on Debian and Ubuntu: apt-get install chromium), or " +
			"name its path in tools.modules.web.browse.config.executable")
}

// Start starts a browser. The caller learns from its first reply whether it works: see
// Failed.
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
	by, err := o.walls()
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(o.Temp); err == nil && by == boxed { // which is shown at its own path
		o.Temp = real
	}
	sweep(o.Temp, o.Log)
	own, err := newFolder(o.Temp)
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "there is no place for the browser's files: %w", err).
			WithHint("free some space in %s", o.Temp)
	}
	p := &Process{
		Sandboxed: by != unconfined, path: path, folder: own, output: newTail(), done: make(chan struct{}),
	}
	args := arguments(o, own.path, by)
	if by == boxed {
		err = p.startBoxed(args)
	} else {
		err = p.start(args, environment(own.path, o.Visible))
	}
	if err != nil {
		err = tool.Errorf(op, tool.Unavailable, "the browser %s could not be started: %w", path, err)
		return nil, errors.Join(err, own.remove())
	}
	return p, nil
}

// start connects the pipes and starts the program.
func (p *Process) start(args, env []string) error {
	cmd := launch.New(p.path, append([]string{p.path}, args...), p.folder.path, env)
	p.end = func() { endGroup(cmd) }
	var ends [3][2]*os.File // commands to it, messages from it, its standard output and error
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends[:i])
			return err
		}
		ends[i] = [2]*os.File{r, w}
	}
	commands, messages, output := ends[0], ends[1], ends[2]
	cmd.Stdout, cmd.Stderr = output[1], output[1]
	if err := passPipes(cmd, commands[0], messages[1]); err != nil {
		closeAll(ends[:])
		return err
	}
	setProcessGroup(cmd)
	started := make(chan error, 1)
	go p.run(cmd, started)
	if err := <-started; err != nil {
		closeAll(ends[:])
		return err
	}
	_, _, _ = commands[0].Close(), messages[1].Close(), output[1].Close()
	p.output.from = output[0]
	go p.output.read()
	p.pipe = chromedp.NewPipeConn(messages[0], commands[1])
	return nil
}

func closeAll(ends [][2]*os.File) {
	for _, e := range ends {
		_, _ = e[0].Close(), e[1].Close()
	}
}

// run starts the program and waits for its end on a thread of its own, because the
// program is killed when the thread that started it ends.
func (p *Process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait()
	close(p.done)
}

// Pipe returns the transport for the browser's commands and messages.
func (p *Process) Pipe() *chromedp.PipeConn { return p.pipe }

// Folder returns the browser's folder, which is removed when it ends. The caller may keep
// files there too.
func (p *Process) Folder() string { return p.folder.path }

// Reach returns the address at which the browser reaches a proxy of this machine, until
// leave is called.
func (p *Process) Reach(proxy string) (addr string, leave func()) {
	if p.gates == nil {
		return proxy, func() {}
	}
	return p.gates.open(proxy)
}

// Done is closed when the browser has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Failed explains, from what the browser printed, why it did not reply. If the browser has
// ended or closed its pipe, Failed waits for the rest of its output; if the caller gave up on
// a browser that runs, it does not.
func (p *Process) Failed(err error) error {
	if p.ended() || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		p.output.wait(time.Second)
	}
	if isBoxed := p.gates != nil; isBoxed && p.ended() && p.lost != nil {
		return p.lost
	}
	return explain(p.path, p.output.String(), err)
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// explain is the error of a browser that did not reply, from what it printed.
func explain(path, printed string, err error) error {
	e := &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the browser did not start", Err: err}
	if printed != "" {
		e.Message += "; it said: " + printed
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Hint = "the machine may be too busy: try again"
	case strings.Contains(printed, "No usable sandbox"), strings.Contains(printed, "SUID sandbox"):
		e.Message = "the browser did not start, because it cannot make its own sandbox here"
		e.Hint = "this system forbids user namespaces to the browser's sandbox: allow them for it " +
			"(sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu); " + consentHint
	case strings.Contains(printed, "Missing X server"), strings.Contains(printed, "cannot open display"):
		e.Hint = "a window needs a display: set tools.modules.web.browse.config.headless to true"
	default:
		e.Hint = "try " + path + " --version in a shell"
	}
	return e
}

// Close ends the browser with everything it started, and removes what it wrote. It
// returns when nothing is left.
func (p *Process) Close() error {
	p.once.Do(func() {
		p.end()
		_ = p.pipe.Close()
		<-p.done
		killByFolder(p.folder.path)
		p.output.wait(time.Second)
		p.closed = p.folder.remove()
	})
	return p.closed
}

// environment is the browser's environment: of ours only the path of programs, the
// user's language and, for a window, the display. Its home is its own folder, so that it
// neither reads nor changes the user's.
func environment(dir string, visible bool) []string {
	temp := filepath.Join(dir, tempName)
	env := []string{
		"HOME=" + dir, "TMPDIR=" + temp, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "DBUS_SESSION_BUS_ADDRESS=disabled:",
	}
	names := []string{
		"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT", "WINDIR", "PROGRAMFILES",
		"FONTCONFIG_FILE", "FONTCONFIG_PATH",
	}
	if visible {
		names = append(names, "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")
	}
	if runtime.GOOS == "windows" {
		env = append(env, "TEMP="+temp, "TMP="+temp, "LOCALAPPDATA="+dir)
	}
	return append(env, launch.Only(names...)...)
}
