package cli_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is wrong with a state directory is said at start, in a sentence that says where
// and what to do; what can be read is read.
func TestStartProblems(t *testing.T) {
	t.Parallel()
	header := func(offset int, value uint32) func(*testing.T, string) {
		return func(t *testing.T, state string) {
			change(t, filepath.Join(state, "callgate.db"), func(data []byte) []byte {
				binary.BigEndian.PutUint32(data[offset:], value)
				return data
			})
		}
	}
	mode := func(name string) func(*testing.T, string) {
		return func(t *testing.T, state string) {
			path := filepath.Join(state, name)
			if _, err := os.Stat(path); err != nil {
				must(t, os.WriteFile(path, nil, 0o600))
			}
			must(t, os.Chmod(path, 0o644))
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, state string)
		says   []string // of every command, on standard error
		reads  bool     // the journal and conversations can be read
		shows  bool     // what needs neither works: tools list, app where
		calls  bool     // calls run
	}{
		"database removed": {
			damage: func(t *testing.T, state string) { must(t, os.Remove(filepath.Join(state, "callgate.db"))) },
			says:   []string{"journal.anchor has seen record 4", "accept-loss"}, reads: true, shows: true,
		},
		"database emptied": {
			damage: func(t *testing.T, state string) { must(t, os.Truncate(filepath.Join(state, "callgate.db"), 0)) },
			says:   []string{"journal.anchor has seen record 4", "accept-loss"}, reads: true, shows: true,
		},
		"database cut": {
			damage: func(t *testing.T, state string) { must(t, os.Truncate(filepath.Join(state, "callgate.db"), 8192)) },
			says:   []string{"the database is damaged", "callgate.db", "restore"}, shows: true,
		},
		"database of a newer version": {
			damage: header(60, 99), says: []string{"schema version 99", "callgate.db", "newer Callgate"}, shows: true,
		},
		"not a database": {
			damage: func(t *testing.T, state string) {
				must(t, os.WriteFile(filepath.Join(state, "callgate.db"), bytes.Repeat([]byte("no "), 1000), 0o600))
			},
			says: []string{"callgate.db is not an SQLite file", "restore"}, shows: true,
		},
		"a log of another database": {
			damage: func(t *testing.T, state string) {
				must(t, os.WriteFile(filepath.Join(state, "callgate.db-wal"), bytes.Repeat([]byte("no "), 20000), 0o600))
			},
			reads: true, shows: true, calls: true, // SQLite knows its own log
		},
		"human.key open to others": {
			damage: mode("human.key"), says: []string{"human.key is open to others", "chmod 600"}, reads: true, shows: true,
		},
		"secrets.box open to others": {
			damage: mode("secrets.box"), says: []string{"secrets.box", "mode 0644", "chmod 600"}, reads: true, shows: true,
		},
		"secrets.key open to others": {
			damage: mode("secrets.key"), says: []string{"secrets.key is open to others", "chmod 600"},
			reads: true, shows: true, calls: true,
		},
		"secrets.key missing": {
			damage: func(t *testing.T, state string) {
				setSecret(t, state)
				must(t, os.Remove(filepath.Join(state, "secrets.key")))
			},
			says: []string{"secrets.key", "is gone", "restore"}, reads: true, shows: true,
		},
		"secrets.box missing": { // its key alone opens nothing, and no secret is left to say
			damage: func(t *testing.T, state string) {
				setSecret(t, state)
				must(t, os.Remove(filepath.Join(state, "secrets.box")))
			},
			reads: true, shows: true, calls: true,
		},
		"database with its log removed": {
			damage: func(t *testing.T, state string) {
				killKernel(t, state)
				must(t, os.Remove(filepath.Join(state, "callgate.db-wal")))
			},
			says: []string{"journal.anchor has seen record", "accept-loss"}, reads: true, shows: true,
		},
		"read-only with a log": {
			damage: func(t *testing.T, state string) { killKernel(t, state); readOnly(t, state) },
			says:   []string{"cannot be used", "read-only", "--state"}, reads: true, shows: true,
		},
		"journal.key open to others": {damage: mode("journal.key"), says: []string{"journal.key is open to others", "chmod 600"}, reads: true, shows: true, calls: true},
		"callgate.db open to others": {damage: mode("callgate.db"), says: []string{"callgate.db is open to others", "chmod 600"}, reads: true, shows: true, calls: true},
		"the directory is a file": {
			damage: func(t *testing.T, state string) {
				must(t, os.RemoveAll(state))
				must(t, os.WriteFile(state, nil, 0o600))
			},
			says: []string{"state directory", "--state"},
		},
		"read-only": {damage: readOnly, says: []string{"cannot be used", "read-only", "--state"}, reads: true, shows: true},
		"full":      {damage: full, says: []string{"the disk is full", "free some space"}, reads: true, shows: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			must(t, os.Mkdir(state, 0o700))
			if strings.HasPrefix(name, "read-only") || name == "full" {
				smallDisk(t, state)
			}
			call := []string{"-C", t.TempDir(), "tools", "call", "filesystem.write", "--path", "x", "--content", "y"}
			if code, out, errs := inProcess(t, state, "", call...); code != 0 {
				t.Fatalf("%s%s", out, errs)
			}
			c.damage(t, state)
			for _, args := range [][]string{{"log", "tail"}, {"log", "doubts"}, {"sessions", "list"}, {"grants", "list"}} {
				code, out, errs := inProcess(t, state, "", args...)
				expect(t, args, c.reads, code, out, errs, c.says)
			}
			for _, args := range [][]string{{"tools", "list"}, {"app", "where"}} {
				code, out, errs := inProcess(t, state, "", args...)
				expect(t, args, c.shows, code, out, errs, c.says)
			}
			code, out, errs := inProcess(t, state, "", call...)
			expect(t, call, c.calls, code, out, errs, c.says)
			code, out, errs = inProcess(t, state, "", "doctor")
			if healthy := code == 0; healthy != (len(c.says) == 0) && runtimeHealthy(out) {
				t.Errorf("doctor ends with %d and says %s%s", code, out, errs)
			}
			for _, want := range c.says {
				if !strings.Contains(out+errs, want) {
					t.Errorf("doctor does not say %q, but %s%s", want, out, errs)
				}
			}
		})
	}
}

// runtimeHealthy reports whether doctor found nothing broken that is the machine's.
func runtimeHealthy(out string) bool { return !strings.Contains(out, "broken: confinement") }

func expect(t *testing.T, args []string, works bool, code int, out, errs string, says []string) {
	t.Helper()
	if works != (code == 0) {
		t.Errorf("callgate %s ends with %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	for _, want := range says {
		if !strings.Contains(errs, want) {
			t.Errorf("callgate %s does not say %q, but %s", strings.Join(args, " "), want, errs)
		}
	}
	if strings.Contains(errs, "goroutine ") || strings.Count(errs, "\n") > 6 {
		t.Errorf("callgate %s says %s", strings.Join(args, " "), errs)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, f(data), 0o600))
}

// killKernel has a kernel make a call, and kills it: the call is in the log of the
// database, which nobody folded into it.
func killKernel(t *testing.T, state string) {
	t.Helper()
	kernel := up(t, state)
	code, out, errs := inProcess(t, state, "", "-C", t.TempDir(), "tools", "call", "filesystem.write",
		"--path", "x", "--content", "y")
	if code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	must(t, kernel.Process.Kill())
	_ = kernel.ends(t)
}

func setSecret(t *testing.T, state string) {
	t.Helper()
	if code, out, errs := inProcess(t, state, "a value", "secrets", "set", "NAME"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
}

// smallDisk mounts a disk of a few megabytes.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=0700"); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v): run as root to test one that is full", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	// What another test starts has the files of this process open until it runs its program: the disk is busy meanwhile.
	for until := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=3m,mode=0700")
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(until) {
			must(t, err)
			return
		}
	}
}

func full(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	must(t, err)
	defer f.Close()
	for block := 4096; block > 0; {
		if _, err := f.Write(make([]byte, block)); errors.Is(err, syscall.ENOSPC) {
			block /= 2
		} else {
			must(t, err)
		}
	}
}
