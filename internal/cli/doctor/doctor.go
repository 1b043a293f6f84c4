// Package doctor looks at the machine and says what Callgate finds on it, what
// is missing, and how to get it. It changes nothing.
package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"callgate/internal/amount"
	"callgate/internal/launch"
	"callgate/internal/module/browser/process"
	"callgate/internal/statedir"
	"callgate/tool"
)

// State is the result of a check.
type State string

// The states. Only Broken means that Callgate cannot do its work.
const (
	OK      State = "ok"
	Missing State = "missing" // something optional is not there
	Warning State = "warning" // it works, and could be better
	Broken  State = "broken"
)

// Check is one thing that was checked.
type Check struct {
	Group   string `json:"group"`
	Name    string `json:"name"`
	State   State  `json:"state"`
	Found   string `json:"found,omitempty"`
	Purpose string `json:"for,omitempty"` // what an optional thing is good for
	Fix     string `json:"fix,omitempty"` // how to get it, or repair it
}

// The groups, in the order in which they are shown.
const (
	GroupCallgate = "callgate"
	GroupInstall  = "installation"
	GroupState    = "state"
	GroupPrograms = "programs"
	GroupSandbox  = "sandbox"
)

// program is one that some tools or modules use.
type program struct {
	names   []string // any of them will do
	version []string // arguments that make it say its version; nil: do not ask
	why     string
	apt     string
	brew    string
	try     func(context.Context) error // uses it, as Callgate would; nil: it is there, which is enough
}

func programs() []program {
	return []program{
		{[]string{"rg"}, []string{"--version"}, "faster grep over large folders", "ripgrep", "ripgrep", nil},
		{[]string{"bash"}, []string{"--version"}, "tools that run shell commands", "bash", "bash", nil},
		{[]string{"git"}, []string{"--version"}, "tools that work on repositories", "git", "git", nil},
		{[]string{"node"}, []string{"--version"}, "tool servers written for Node.js", "nodejs", "node", nil},
		{[]string{"npm"}, nil, "installing tool servers written for Node.js", "npm", "node", nil},
		{browsers(), []string{"--version"}, "tools that use a browser", "chromium", "chromium", tryBrowser},
		{[]string{"psql"}, []string{"--version"}, "looking into a shared state on Postgres", "postgresql-client", "libpq", nil},
		{[]string{notifier()}, nil, "channels that show messages on the desktop", "libnotify-bin", "", nil},
	}
}

// notifier is the program that shows notifications on this system.
func notifier() string {
	if runtime.GOOS == "darwin" {
		return "osascript"
	}
	return "notify-send"
}

func browsers() []string {
	return []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
}

// Programs looks for the programs that parts of Callgate can use. All of them
// are optional.
func Programs(ctx context.Context) []Check {
	list := programs()
	checks := make([]Check, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() { checks[i] = p.check(ctx) })
	}
	wg.Wait()
	return checks
}

// Program looks for one of the programs that parts of Callgate can use, by its usual name.
func Program(ctx context.Context, name string) (c Check, known bool) {
	for _, p := range programs() {
		if p.names[0] == name {
			return p.check(ctx), true
		}
	}
	return Check{}, false
}

func (p program) check(ctx context.Context) Check {
	c := Check{Group: GroupPrograms, Name: p.names[0], State: Missing, Purpose: p.why}
	for _, name := range p.names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		c.State, c.Found = OK, path
		if p.version != nil {
			c.Found += versionLine(ctx, path, p.version)
		}
		if p.try != nil {
			c.tried(p.try(ctx))
		}
		return c
	}
	switch runtime.GOOS {
	case "linux":
		c.Fix = "apt-get install " + p.apt
	case "darwin":
		c.Fix = "brew install " + p.brew
	}
	return c
}

// tried adds to a check what came of using the thing.
func (c *Check) tried(err error) {
	if err == nil {
		return
	}
	why := err.Error()
	var e *tool.Error
	if errors.As(err, &e) {
		why, c.Fix = e.Message, e.Hint
	}
	c.State, c.Found = Warning, c.Found+", but it cannot be used: "+why
}

// tryTimeout bounds how long one thing is tried.
const tryTimeout = 20 * time.Second

func tryBrowser(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return process.Try(ctx, process.Options{})
}

// versionLine is the first line of a program's version, in brackets.
func versionLine(ctx context.Context, path string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := launch.Helper(ctx, path, args).Output()
	if err != nil {
		return " (it does not start: " + err.Error() + ")"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return " (" + line + ")"
}

// minFree is the free space below which a kernel will soon fail to write.
const minFree = 64 << 20

// Directory looks at the state directory and the database in it, or elsewhere, if storage is the URL of one.
func Directory(dir statedir.Dir, storage string) []Check {
	c := Check{Group: GroupState, Name: "directory", State: OK, Found: dir.String()}
	info, err := os.Stat(dir.String())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Found += " (not created yet; the first command creates it)"
		if above := existingParent(dir.String()); !writable(above) {
			c.State, c.Fix = Broken, "it cannot be created in "+above+": name another with --state or CALLGATE_STATE"
		}
		return []Check{c, diskSpace(existingParent(dir.String()))}
	case err != nil:
		c.State, c.Fix = Broken, err.Error()
		return []Check{c}
	case !info.IsDir():
		c.State, c.Fix = Broken, "it is not a folder: name another with --state or CALLGATE_STATE"
		return []Check{c}
	}
	if runtime.GOOS != "windows" {
		c.Found += fmt.Sprintf(" (mode %04o)", info.Mode().Perm())
		if info.Mode().Perm()&0o077 != 0 {
			c.State, c.Fix = Warning, "others can read it: chmod 700 "+dir.String()
		}
	}
	if !writable(dir.String()) {
		c.State, c.Fix = Broken, "it cannot be written: check its owner"
	}
	if err := dir.Make(); err != nil { // it is there: this looks at the owners
		c.State, c.Fix = Broken, err.Error()
	}
	return append([]Check{c, diskSpace(dir.String()), database(dir.Database(), storage)}, secrets(dir)...)
}

// secrets says where the key of the stored secrets is; nothing when none are stored.
func secrets(dir statedir.Dir) []Check {
	if _, err := os.Stat(filepath.Join(dir.String(), "secrets.box")); err != nil {
		return nil
	}
	c := Check{Group: GroupState, Name: "secrets", State: OK, Found: "sealed; the key is in the keyring of this system"}
	if _, err := os.Stat(filepath.Join(dir.String(), "secrets.key")); err == nil {
		c.Found = "sealed; there was no keyring, so the key lies beside them: whoever reads secrets.key and " +
			"secrets.box, a backup for instance, has the secrets"
	}
	return []Check{c}
}

// existingParent is the nearest existing folder at or above path.
func existingParent(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

func diskSpace(folder string) Check {
	c := Check{Group: GroupState, Name: "free space", State: OK}
	free, err := freeBytes(folder)
	switch {
	case err != nil:
		c.State, c.Found = Warning, "not known: "+err.Error()
	case free < minFree:
		c.State, c.Found, c.Fix = Broken, amount.Bytes(free), "free some space: calls that must be recorded will fail"
	default:
		c.Found = amount.Bytes(free)
	}
	return c
}

// database reads the size and the schema version of the database from its
// header, without opening it.
func database(path, storage string) Check {
	c := Check{Group: GroupState, Name: "database", State: OK}
	if storage != "" { // whether it can be used, the kernel says
		c.Found = statedir.DescribeDatabase(storage) + ", shared with other machines"
		return c
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.Found = "not created yet"
		return c
	}
	if err != nil {
		c.State, c.Fix = Broken, err.Error()
		return c
	}
	defer f.Close()
	header := make([]byte, 100)
	if _, err := io.ReadFull(f, header); err != nil || !bytes.HasPrefix(header, []byte("SQLite format 3\x00")) {
		c.State, c.Found, c.Fix = Broken, path, "this is not an SQLite file: move it away, or restore it from a copy"
		return c
	}
	version := binary.BigEndian.Uint32(header[60:])
	total := uint64(0)
	for _, part := range []string{path, path + "-wal"} {
		if info, err := os.Stat(part); err == nil {
			total += uint64(info.Size())
		}
	}
	c.Found = "SQLite, " + amount.Bytes(total)
	if version > 0 { // while a kernel runs it may still be in the log
		c.Found = fmt.Sprintf("SQLite, schema version %d, %s", version, amount.Bytes(total))
	}
	return c
}
