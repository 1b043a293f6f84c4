package process

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// markName is a variable that all descendants inherit. By its value they are
// found even when they have left their session and lost their parents.
const markName = "_MCP_RUN"

// processGroup is a process and what it started: its session, its descendants,
// and every process with its mark.
type processGroup struct {
	pid  int
	mark string // "name=value"
}

func start(cmd *exec.Cmd, mark string) (processGroup, error) {
	g := processGroup{mark: markName + "=" + mark}
	cmd.Env = append(cmd.Env, g.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return processGroup{}, err
	}
	g.pid = cmd.Process.Pid
	return g, nil
}

// release frees what the system holds for the group.
func (g processGroup) release() {}

// terminate asks all of the session to end.
func (g processGroup) terminate() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends all members: first the session, at once, then those who left it.
func (g processGroup) kill() {
	const rounds = 20 // a member may fork while the members are listed
	for range rounds {
		members := g.members()
		syscall.Kill(-g.pid, syscall.SIGKILL)
		for _, pid := range members {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(members) == 0 {
			return
		}
		time.Sleep(time.Millisecond) // dying takes a moment
	}
}

// members returns the members that are alive.
func (g processGroup) members() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	parent := make(map[int]int, len(names))
	ours := map[int]bool{g.pid: true}
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
		ours[pid] = ours[pid] || sid == g.pid || g.marked(name)
	}
	var living []int
	for pid := range parent {
		if descends(pid, parent, ours) {
			living = append(living, pid)
		}
	}
	return living
}

// marked reports whether a process has the group's mark.
func (g processGroup) marked(pid string) bool {
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && bytes.Contains(append(env, 0), append([]byte(g.mark), 0))
}

// descends reports whether a process or one of its ancestors is ours.
func descends(pid int, parent map[int]int, ours map[int]bool) bool {
	for range 1000 { // the list is not of one moment: it could hold a cycle
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
