//go:build linux

package drive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// strike does one fault.
func (g *group) strike(f fault, rng *rand.Rand) {
	switch f {
	case killKernel:
		g.killKernelNow()
	case killServer:
		if pids := g.servers(); len(pids) > 0 && signal(pids[rng.IntN(len(pids))], syscall.SIGKILL) {
			g.died("server")
		}
	case killBridge:
		g.shoot("bridge", rng)
	case killClient:
		g.shoot("client", rng)
	case killModel:
		g.shoot("model", rng)
		g.startModel()
	case stopKernel:
		pause([]int{g.kernel()}, rng)
	case stopServer:
		pause(g.servers(), rng)
	case breakClient:
		g.wire.BreakAll()
	case fillDisk:
		g.fill(rng)
	case slowDisk:
		slow(g.dir, rng)
	}
}

// shoot kills one of the harness's own processes.
func (g *group) shoot(what string, rng *rand.Rand) {
	list := g.procs.pick(what)
	if len(list) == 0 {
		return
	}
	p := list[rng.IntN(len(list))]
	kernel := g.kernel() == p.Process.Pid
	if !p.kill() {
		return
	}
	if kernel { // a command that was the kernel while it lasted
		what = "kernel"
	}
	g.died(what)
	p.ended(5 * time.Second)
}

// pause stops processes for a while.
func pause(pids []int, rng *rand.Rand) {
	for _, pid := range pids {
		if pid != 0 {
			signal(pid, syscall.SIGSTOP)
			defer signal(pid, syscall.SIGCONT)
		}
	}
	wait(context.Background(), time.Duration(100+rng.IntN(600))*time.Millisecond)
}

// small is the size of a state directory that is filled.
const small = "96m"

// mountSmall puts the state directory on a small file system of its own.
func (g *group) mountSmall() {
	err := syscall.Mount("tmpfs", g.state, "tmpfs", 0, "mode=0700,size="+small)
	if g.tmpfs = err == nil; !g.tmpfs {
		g.skipped = append(g.skipped, fmt.Sprintf("full disks, which need root: no file system is mounted here: %v", err))
	}
}

// fill fills the state directory while calls go on, sometimes kills the kernel and
// starts the next one there, and makes room again.
func (g *group) fill(rng *rand.Rand) {
	if !g.tmpfs {
		return
	}
	name := filepath.Join(g.state, "filler")
	f, err := os.Create(name)
	if err != nil {
		return
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(name)
	}()
	for size := int64(16 << 20); size >= 4096; {
		at, _ := f.Seek(0, 2)
		if err := syscall.Fallocate(int(f.Fd()), 0, at, size); err != nil {
			size /= 2
			continue
		}
		if _, err := f.Seek(at+size, 0); err != nil || f.Truncate(at+size) != nil {
			break
		}
	}
	wait(context.Background(), time.Duration(50+rng.IntN(250))*time.Millisecond)
	if rng.IntN(2) == 0 {
		return
	}
	g.killKernelNow()
	p, err := g.start("kernel", g.Binary, "up") // it may refuse, and must not damage anything
	if err == nil && !p.ended(time.Duration(300+rng.IntN(700))*time.Millisecond) && g.kernel() == p.Process.Pid {
		g.killKernelNow()
	}
	if err == nil {
		p.kill()
		p.ended(5 * time.Second)
	}
}

// slow keeps the disk of a folder busy with writes that must reach it.
func slow(folder string, rng *rand.Rand) {
	f, err := os.CreateTemp(folder, "slow")
	if err != nil {
		return
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 1<<20)
	for end := time.Now().Add(time.Duration(100+rng.IntN(300)) * time.Millisecond); time.Now().Before(end); {
		if _, err := f.WriteAt(block, rng.Int64N(32)<<20); err != nil || f.Sync() != nil {
			return
		}
	}
}
