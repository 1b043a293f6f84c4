package process

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// markName is a variable that all descendants inherit, by which they are found
// even when they have left their session and lost their parents. It says
// nothing but whose they are.
const markName = "_MCP_RUN"

// processGroup is a process and what it started: its session, whoever descends from
// it, and whoever carries its mark.
type processGroup struct {
	pid  int
	mark string // "name=value"
}

func start(cmd *exec.Cmd, mark string) (processGroup, error) {
	f := processGroup{mark: markName + "=" + mark}
	cmd.Env = append(cmd.Env, f.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return processGroup{}, err
	}
	f.pid = cmd.Process.Pid
	return f, nil
}

// release gives back what the system holds for a family.
func (f processGroup) release() {}

// terminate asks the whole group to end.
func (f processGroup) terminate() { syscall.Kill(-f.pid, syscall.SIGTERM) }

// kill ends everybody: first the group, at once, then those who left it.
func (f processGroup) kill() {
	const rounds = 20 // against one that forks while it is being looked for
	for range rounds {
		members := f.members()
		syscall.Kill(-f.pid, syscall.SIGKILL)
		for _, pid := range members {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(members) == 0 {
			return
		}
		time.Sleep(time.Millisecond) // dying takes a moment
	}
}

// members finds the living of the family.
func (f processGroup) members() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	parent := make(map[int]int, len(names))
	ours := map[int]bool{f.pid: true}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		const state, ppid, session = 0, 1, 3
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) <= session || string(fields[state]) == "Z" {
			continue
		}
		parent[pid], _ = strconv.Atoi(string(fields[ppid]))
		sid, _ := strconv.Atoi(string(fields[session]))
		ours[pid] = ours[pid] || sid == f.pid || f.marked(name)
	}
	var living []int
	for pid := range parent {
		if descends(pid, parent, ours) {
			living = append(living, pid)
		}
	}
	return living
}

// marked reports whether a process carries the family's mark.
func (f processGroup) marked(pid string) bool {
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && bytes.Contains(append(env, 0), append([]byte(f.mark), 0))
}

// descends reports whether a process or one of its ancestors is ours.
func descends(pid int, parent map[int]int, ours map[int]bool) bool {
	for range 1000 { // a scan is no snapshot: it could show a ring
		if ours[pid] {
			return true
		}
		next, ok := parent[pid]
		if !ok || next <= 1 {
			return false
		}
		pid = next
	}
	return false
}
