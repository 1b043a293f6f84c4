//go:build linux

package drive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience bounds how long a start may take, and a call.
const patience = 40 * time.Second

// startKernel starts a kernel and waits until it serves. A bridge may have started
// another in the meantime: then that one serves.
func (g *group) startKernel(quiet bool) error {
	began := time.Now()
	p, err := g.start("kernel", g.Binary, "up")
	if err != nil {
		return err
	}
	c := g.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		status, err := c.Status(ctx)
		if err == nil {
			if status.PID == p.Process.Pid {
				g.log.started(Start{Took: time.Since(began), CPU: processorTime(status.PID), Quiet: quiet})
			}
			return nil
		}
		select {
		case <-p.done:
			if g.kernel() != 0 {
				break // another serves, or will
			}
			if !strings.Contains(p.err.String(), "already serves") {
				return fmt.Errorf("callgate up ended: %s%s", p.out, p.err)
			}
			if p, err = g.start("kernel", g.Binary, "up"); err != nil { // that one has ended since
				return err
			}
			began = time.Now()
		default:
		}
		if ctx.Err() != nil {
			g.log.problem(Unstartable, g.dir, fmt.Sprintf("callgate up does not serve after %s: %s", patience, p.err))
			return errors.New("no kernel serves")
		}
		wait(ctx, 2*time.Millisecond)
	}
}

// killKernelNow kills whoever holds the state directory.
func (g *group) killKernelNow() {
	pid := g.kernel()
	if pid == 0 {
		return
	}
	servers := g.servers()
	for _, p := range g.procs.everything() {
		if p.Process.Pid == pid {
			p.mu.Lock()
			p.shot = true
			p.mu.Unlock()
		}
	}
	if signal(pid, syscall.SIGKILL) {
		g.died("kernel")
	}
	for _, pid := range append(servers, pid) { // what the kernel started goes with it, a moment later
		if !g.vanished(pid) {
			g.log.problem(Orphan, strconv.Itoa(pid), "it lives on after its kernel was killed: "+commandLine(pid))
		}
	}
	g.wire.Cut()
}

// vanished waits until a process is gone.
func (at places) vanished(pid int) bool {
	for deadline := time.Now().Add(10 * time.Second); at.ours(pid); wait(context.Background(), time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// killWhileStarting kills a kernel before it serves, or when it has just begun to.
func (g *group) killWhileStarting(rng *rand.Rand) {
	p, err := g.start("kernel", g.Binary, "up")
	if err != nil {
		g.log.problem(Unstartable, g.dir, err.Error())
		return
	}
	wait(context.Background(), time.Duration(5+rng.IntN(120))*time.Millisecond)
	if p.kill() {
		g.died("kernel")
	}
	p.ended(5 * time.Second)
}

// died counts a kill.
func (g *group) died(what string) {
	g.kills.Add(1)
	g.log.killed(what)
}

// startModel starts the language model.
func (g *group) startModel() {
	_, err := g.start("model", g.Self, "model", g.model, g.heard)
	if err != nil {
		g.log.problem(Unstartable, "the model", err.Error())
	}
}
