package cli_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/cli"
	"callgate/internal/cli/command"
	"callgate/internal/peer/terminaltest"
	"callgate/internal/statedir"
)

// quickRace keeps processes under the race detector from sleeping a second
// before each ends.
const quickRace = "atexit_sleep_ms=0"

// TestScripts runs the scripts. A command after exec is a process, as one needs
// that runs in the background or reads standard input; a command after run is
// not, which costs a tenth.
func TestScripts(t *testing.T) {
	t.Parallel()
	s := scripts{t.Context()}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("CALLGATE_STATE", filepath.Join(e.WorkDir, "state"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, ".home")) // the usual one would be made in the root folder
			e.Setenv("TZ", "UTC")
			e.Setenv("GORACE", quickRace)
			e.Values[modelKey{}] = &startedModel{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run": s.run, "exits": s.exits, "until": s.until, "person": s.person, "model": s.model, "store": s.store,
			"running": running, "serve": serve, "capture": capture, "replace": replace,
		},
	})
}

// scripts has the commands of scripts that run the program.
type scripts struct{ ctx context.Context }

// said is how a program ended, and what it wrote.
type said struct {
	code        int
	out, errors string
}

// start runs the program in this process; or, as exec does, any program in its
// own.
func (s scripts) start(ts *testscript.TestScript, args []string) said {
	if args[0] == "callgate" {
		var out, errs bytes.Buffer
		code := cli.Run(s.ctx, command.Host{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
			Getenv: ts.Getenv, Dir: ts.MkAbs("."), Tools: demoTools(),
		}, args[1:])
		return said{code, out.String(), errs.String()}
	}
	if args[0] == "exec" {
		args = args[1:]
	}
	code := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[0], args[1:]...); errors.As(err, &ended) {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	return said{code, ts.ReadFile("stdout"), ts.ReadFile("stderr")}
}

// show hands what was written to the script's stdout and stderr.
func show(ts *testscript.TestScript, p said) {
	_, err := ts.Stdout().Write([]byte(p.out))
	ts.Check(err)
	_, err = ts.Stderr().Write([]byte(p.errors))
	ts.Check(err)
}

// run callgate [args...]: the program ends well or, after !, badly.
func (s scripts) run(ts *testscript.TestScript, neg bool, args []string) {
	p := s.start(ts, args)
	show(ts, p)
	if neg != (p.code != 0) {
		ts.Fatalf("exit code %d: %s%s", p.code, p.out, p.errors)
	}
}

// exits CODE [exec] program [args...]: the program ends with that very code.
func (s scripts) exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	p := s.start(ts, args[1:])
	show(ts, p)
	if p.code != want {
		ts.Fatalf("exit code %d, want %d: %s%s", p.code, want, p.out, p.errors)
	}
}

// person [CODE] callgate [args...]: a person runs the program in a terminal of their
// own, and types the code that it shows. It ends with that exit code, or 0.
func (s scripts) person(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err == nil {
		args = args[1:]
	}
	env := []string{"CALLGATE_STATE=" + ts.Getenv("CALLGATE_STATE"), "NO_COLOR=1"}
	for _, name := range []string{"VISUAL", "EDITOR", "CALLGATE_TOKEN", "CALLGATE_KEYRING", "HOME", "TZ", "PATH"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	p, err := terminaltest.Try(terminaltest.Program{
		Args: args, Dir: ts.MkAbs("."), Env: env, Types: []terminaltest.Typing{terminaltest.Code()},
	})
	ts.Check(err)
	if p.Failed != "" {
		ts.Fatalf("%s", p.Failed)
	}
	show(ts, said{p.Exit, p.Out, p.Err})
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(p.Screen), 0o600))
	if p.Exit != want {
		ts.Fatalf("exit code %d, want %d: %s%s\n%s", p.Exit, want, p.Out, p.Err, p.Screen)
	}
}

// until PATTERN program [args...]: run the program again until its standard
// output matches.
func (s scripts) until(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	var p said
	if !poll(30*time.Second, func() bool {
		p = s.start(ts, args[1:])
		return pattern.MatchString(p.out)
	}) {
		ts.Fatalf("%q was never said, but %s%s", args[0], p.out, p.errors)
	}
	show(ts, p)
}

// poll looks at something of another process until it is so. It reports whether
// it was in time.
func poll(limit time.Duration, so func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

// running: wait until a kernel answers on the script's state directory.
func running(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := statedir.At(ts.Getenv("CALLGATE_STATE"))
	ts.Check(err)
	if !poll(30*time.Second, func() bool {
		var c net.Conn
		if c, err = net.Dial("unix", dir.Socket()); err == nil {
			_ = c.Close()
		}
		return err == nil
	}) {
		ts.Fatalf("no kernel answers: %v", err)
	}
}

// capture NAME FILE PATTERN: keep the first group of the pattern's first match
// in a file, or in stdout or stderr, as a variable.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if found == nil {
		ts.Fatalf("%s does not match %q", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// replace FILE OLD NEW: change a file as someone with bad intentions would.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	changed := strings.Replace(string(data), args[1], args[2], 1)
	if changed == string(data) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(changed), 0o600))
}
