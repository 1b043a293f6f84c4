//go:build unix

package process

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"callgate/internal/launch"
)

// watchdogScript keeps a list of groups from what it reads on stdin. Its input
// ends when the kernel does, however that ends; then it kills the groups that
// are left, and every process with their mark.
const watchdogScript = `trap '' HUP INT TERM
groups=
while read -r op group; do
	kept=
	for g in $groups; do [ "$g" = "$group" ] || kept="$kept $g"; done
	groups=$kept
	[ "$op" = + ] && groups="$groups $group"
done
[ -z "$groups" ] && exit 0
for g in $groups; do kill -TERM "-$g"; done
sleep 1
for g in $groups; do kill -KILL "-$g"; done
for e in /proc/[0-9]*/environ; do
	grep -qsa "_MCP_RUN=$1[.]" "$e" && e=${e#/proc/} && kill -KILL "${e%/environ}"
done
`

// Watchdog ends the process groups that the kernel leaves behind when it dies
// without a chance to end them. It starts with the first process and costs one
// sleeping shell; on a system without a shell it does nothing. A nil Watchdog
// watches nothing.
type Watchdog struct {
	mu     sync.Mutex
	name   string   // the start of all marks
	marks  int      // that were made
	pipe   *os.File // to the shell; nil before the first process, and without a shell
	cmd    *exec.Cmd
	closed bool // or there is no shell
}

// mark makes a new mark.
func (w *Watchdog) mark() string {
	if w == nil {
		return rand.Text()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.name == "" {
		w.name = rand.Text()
	}
	w.marks++
	return w.name + "." + strconv.Itoa(w.marks)
}

func (w *Watchdog) add(group int)    { w.send("+", group) }
func (w *Watchdog) remove(group int) { w.send("-", group) }

func (w *Watchdog) send(op string, group int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pipe == nil && !w.closed && op == "+" {
		w.start()
	}
	if w.pipe != nil {
		fmt.Fprintf(w.pipe, "%s %d\n", op, group)
	}
}

func (w *Watchdog) start() {
	r, pipe, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	words := []string{"/bin/sh", "-c", watchdogScript, "callgate-watchdog", w.name}
	cmd := launch.New(words[0], words, launch.Root(), []string{"PATH=/usr/bin:/bin"})
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to the kernel's group are not for it
	if cmd.Start() != nil {
		pipe.Close()
		w.closed = true
		return
	}
	w.pipe, w.cmd = pipe, cmd
}

// Close ends the watchdog, and every process that it still watches.
func (w *Watchdog) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.pipe != nil {
		w.pipe.Close()
		w.cmd.Wait()
		w.pipe = nil
	}
}
