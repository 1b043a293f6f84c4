package enginetest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Crash kills every process of a PostgreSQL server, as hard as can be, and waits until they are gone: nothing is
// written any more by then. No other test may use the server: see Servers.Own. It skips the test where the system has no /proc.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	if s.data == "" {
		t.Fatal("all test processes share this server: crash one that Own returned")
	}
	if len(s.processes()) == 0 {
		t.Skip("the processes of the server are not found in /proc")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		left := s.processes()
		if len(left) == 0 {
			// Where nobody waits for orphans, the process that these name seems to run.
			_ = os.Remove(filepath.Join(s.data, "postmaster.pid"))
			_ = os.Remove(filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)+".lock"))
			return
		}
		for _, pid := range left {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the processes %v of the server were killed a minute ago, and run", left)
		}
	}
}

// Start starts a server again that was crashed, and waits until it has recovered.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// processes are those of the server: each works in the folder of its data.
func (s *Server) processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range all {
		if place, err := os.Readlink(filepath.Join(folder, "cwd")); err == nil && place == s.data {
			pid, _ := strconv.Atoi(filepath.Base(folder))
			pids = append(pids, pid)
		}
	}
	return pids
}
