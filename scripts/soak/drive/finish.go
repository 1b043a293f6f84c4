//go:build linux

package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"callgate/internal/statedir"
)

// quietStarts is how often a group's kernel is started at its end, with everything
// else over, to see what its doubts cost.
const quietStarts = 5

// finish ends a group in order, and looks at what is left.
func (g *group) finish() error {
	g.wire.Cut()
	g.endBridge()
	if err := g.down(); err != nil { // one that a bridge started ends by itself, some time
		return err
	}
	if err := g.startKernel(false); err != nil {
		return err
	}
	if err := g.settle(); err != nil {
		return err
	}
	if err := (agent{g}).finishLasting(); err != nil {
		return err
	}
	g.observe()
	if err := g.examine(context.Background()); err != nil {
		return err
	}
	if err := g.runCommand("log", "verify"); err != nil {
		g.log.problem(Damaged, g.dir, err.Error())
	}
	for range quietStarts {
		if err := g.down(); err != nil {
			return err
		}
		if err := g.startKernel(true); err != nil {
			return err
		}
	}
	if err := g.examine(context.Background()); err != nil {
		return err
	}
	if err := g.down(); err != nil {
		return err
	}
	g.observe()
	for _, p := range g.procs.everything() {
		p.kill() // models
		p.ended(5 * time.Second)
	}
	g.lookForOrphans()
	g.lookForLeftovers()
	return g.readEffects()
}

// settle waits until the kernel does nothing any more.
func (g *group) settle() error {
	c := g.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for quiet := 0; quiet < 20; quiet++ {
		status, err := c.Status(ctx)
		if err != nil {
			return fmt.Errorf("the kernel's work does not end: %w", err)
		}
		if status.Calls > 0 {
			quiet = 0
		}
		wait(ctx, 20*time.Millisecond)
	}
	return nil
}

// runCommand runs one command to its end.
func (g *group) runCommand(args ...string) error {
	p, err := g.start("last command", g.Binary, args...)
	if err != nil {
		return err
	}
	if !p.ended(patience) {
		p.kill()
		return fmt.Errorf("callgate %s does not end", strings.Join(args, " "))
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("callgate %s: exit code %d: %s%s", strings.Join(args, " "), code, p.out, p.err)
	}
	return nil
}

// down stops the kernel in order: one in the foreground by a signal, any other by the
// command.
func (g *group) down() error {
	pid := g.kernel()
	if pid == 0 {
		return nil
	}
	if !signal(pid, syscall.SIGTERM) {
		return errors.New("the kernel cannot be stopped")
	}
	for end := time.Now().Add(patience); g.ours(pid); wait(context.Background(), 2*time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the kernel (process %d) does not end", pid)
		}
	}
	return nil
}

func (g *group) endBridge() {
	if b := g.bridge; b != nil {
		_ = b.in.Close()
		if !b.ended(10 * time.Second) {
			g.log.problem(Orphan, "callgate mcp", "it does not end with its client's messages")
			b.kill()
			b.ended(5 * time.Second)
		}
		g.bridge = nil
	}
}

// lookForOrphans sees that no process is left. What the kernel started ends a moment after it.
func (g *group) lookForOrphans() {
	var left []int
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); wait(context.Background(), 20*time.Millisecond) {
		if left = g.members(); len(left) == 0 {
			return
		}
	}
	for _, pid := range left {
		g.log.problem(Orphan, strconv.Itoa(pid), commandLine(pid))
		signal(pid, syscall.SIGKILL)
	}
}

// expected are the files of a workspace that are not a kernel's. The file server of npm
// leaves the file that it was writing when it is killed.
var expected = regexp.MustCompile(`^(callgate\.yaml|f\d\.txt|f\d\.txt\.[0-9a-f]+\.tmp|` +
	`own\d+\.txt|served\d+\.txt|shell\.txt)$`)

// lookForLeftovers sees that the workspace and the state directory hold nothing that
// should have gone.
func (g *group) lookForLeftovers() {
	entries, err := os.ReadDir(g.work)
	if err != nil {
		g.log.problem(Leftover, g.work, err.Error())
	}
	for _, e := range entries {
		if !expected.MatchString(e.Name()) {
			g.log.problem(Leftover, e.Name(), "in the workspace")
		}
	}
	_ = filepath.WalkDir(g.state, func(path string, e os.DirEntry, err error) error {
		if err == nil && (e.Type()&os.ModeSocket != 0 || strings.Contains(e.Name(), ".tmp")) {
			g.log.problem(Leftover, e.Name(), "in the state directory, with no kernel there")
		}
		return nil
	})
	held, err := statedir.Dir(g.state).Hold()
	if err != nil {
		g.log.problem(Leftover, "lock", err.Error())
		return
	}
	_ = held.Release()
}

// cleanUp ends what is still there, also after a run that failed.
func (g *group) cleanUp() {
	for _, p := range g.procs.everything() {
		p.kill()
		p.ended(5 * time.Second)
	}
	for _, pid := range g.members() {
		signal(pid, syscall.SIGKILL)
	}
	if g.tmpfs {
		keep(filepath.Join(g.dir, "state-kept"), g.state)
		_ = syscall.Unmount(g.state, syscall.MNT_DETACH)
	}
}

// keep copies a state directory, for who looks at a violation. Callgate uses none that
// others can read.
func keep(to, from string) {
	_ = os.CopyFS(to, os.DirFS(from))
	_ = filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}
