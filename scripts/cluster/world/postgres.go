//go:build linux

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const databasePort = "5432"

// Postgres is a PostgreSQL server on a host. It trusts whoever reaches it: the network is closed.
type Postgres struct {
	host    *Host
	folder  string
	tools   string // the folder of its programs
	slow    *slowDisk
	process *exec.Cmd
}

// StartPostgres makes a server in a folder and starts it.
func StartPostgres(ctx context.Context, host *Host, folder string) (*Postgres, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return nil, errors.New("PostgreSQL is not installed: scripts/deps.sh installs it")
	}
	p := &Postgres{host: host, folder: folder, tools: filepath.Dir(found[len(found)-1])}
	owner, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(owner.Uid) // numbers on this system
	gid, _ := strconv.Atoi(owner.Gid)
	err = errors.Join(os.MkdirAll(p.data(), 0o700), os.Chown(folder, uid, gid), os.Chown(p.data(), uid, gid))
	if err != nil {
		return nil, err
	}
	if p.slow, err = newSlowDisk(folder); err != nil {
		return nil, err
	}
	if err := p.as("initdb", "-D", p.data(), "-A", "trust", "-E", "UTF8", "--no-locale", "-U", "callgate"); err != nil {
		return nil, err
	}
	rules := filepath.Join(p.data(), "pg_hba.conf")
	if err := os.WriteFile(rules, []byte("host all all 0.0.0.0/0 trust\nlocal all all trust\n"), 0o600); err != nil {
		return nil, err
	}
	return p, p.Start(ctx)
}

func (p *Postgres) data() string { return filepath.Join(p.folder, "data") }

// as runs a program of the server as its user.
func (p *Postgres) as(name string, args ...string) error {
	return run("setpriv", append([]string{
		"--reuid=postgres", "--regid=postgres", "--init-groups", filepath.Join(p.tools, name),
	}, args...)...)
}

// URL is the address of the database.
func (p *Postgres) URL() string {
	return "postgres://callgate@" + net.JoinHostPort(p.host.Address, databasePort) + "/postgres?sslmode=disable"
}

// Start starts the server, and waits until it has recovered.
func (p *Postgres) Start(ctx context.Context) error {
	p.process = p.host.Command(context.Background(), "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
		"env", "LD_PRELOAD="+p.slow.library, "SLOW_DISK="+p.slow.file,
		filepath.Join(p.tools, "postgres"), "-D", p.data(), "-h", p.host.Address, "-p", databasePort, "-k", p.folder,
		"-c", "max_connections=200", "-c", "tcp_keepalives_idle=5", "-c", "tcp_keepalives_interval=2",
		"-c", "tcp_keepalives_count=3", "-c", "tcp_user_timeout=10000", "-c", "log_min_messages=fatal")
	p.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.OpenFile(filepath.Join(p.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.process.Stdout, p.process.Stderr = log, log
	if err := p.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		if p.as("pg_isready", "-q", "-h", p.folder, "-p", databasePort) == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not come up: %w", context.Cause(ctx))
		}
	}
}

// Kill ends every process of the server at once, and waits until none has its memory any more: another server does not
// start before.
func (p *Postgres) Kill() {
	pid := p.process.Process.Pid           // ip, setpriv and env became what they run
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it makes no more of them
	children := p.children()
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_ = p.process.Wait()
	for _, child := range children {
		for alive(child) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// children are the processes that the server has made.
func (p *Postgres) children() (pids []int) {
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(p.process.Process.Pid)).Output() // none: there are none
	for _, field := range strings.Fields(string(out)) {
		pid, _ := strconv.Atoi(field)
		pids = append(pids, pid)
	}
	return pids
}

// alive reports whether a process is there that has not ended, reaped or not.
func alive(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// Pause stops every process of the server until Resume.
func (p *Postgres) Pause() { p.signal("-STOP") }

// Resume goes on after Pause.
func (p *Postgres) Resume() { p.signal("-CONT") }

func (p *Postgres) signal(name string) {
	pid := strconv.Itoa(p.process.Process.Pid)
	_ = exec.Command("kill", name, pid).Run()
	_ = exec.Command("pkill", name, "-P", pid).Run()
}

// SlowDisk has each sync of the server's files take so long; 0: as long as it takes.
func (p *Postgres) SlowDisk(d time.Duration) error { return p.slow.set(d) }

// PID is the process of the server that has the others.
func (p *Postgres) PID() int { return p.process.Process.Pid }
