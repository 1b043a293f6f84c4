// Package terminaltest lets tests do what a person does: open a terminal, run a
// program there and type. The terminal belongs to no process of the test, as one
// that a person opens belongs to none of an agent's: a process that has ended
// started it, in a session of its own.
package terminaltest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Program is a program that a person runs in a new terminal. Its standard input is
// the terminal; its standard output and error are not, so that they can be told
// apart.
type Program struct {
	Args  []string
	Env   []string // besides the test's own
	Dir   string
	Types []Typing
}

// Typing is what a person types when the terminal shows something, once.
type Typing struct {
	Sees string // a regular expression
	Text string // $1 stands for what the first group matched
}

// Code types the code that the kernel gave for a yes.
func Code() Typing { return Typing{Sees: `type (\w{4}) `, Text: "$1\n"} }

// Ended is how a program ended.
type Ended struct {
	Exit   int
	Out    string
	Err    string
	Screen string // what the terminal showed
	Failed string // why there is nothing else
}

// roleVar makes this program play a part of a test: open starts the terminal and
// ends, and terminal is it.
const (
	roleVar = "CALLGATE_TERMINAL_TEST"
	specVar = "CALLGATE_TERMINAL_PROGRAM"
	partVar = "CALLGATE_TERMINAL_PART" // set for what runs in the terminal

	openerVar = "CALLGATE_TERMINAL_OPENER" // the process that opened it
)

// limit bounds how long a program may run.
const limit = time.Minute

// Play plays the part that Run gave this process, if it gave one, and then does not
// return. A test's TestMain calls it first. Tests that somebody runs in a terminal
// run again without it: else what they start would have a terminal too.
func Play() {
	role := os.Getenv(roleVar)
	if role == "" {
		leaveTerminal()
		return
	}
	result := os.NewFile(3, "result")
	if role == "open" {
		if err := startTerminal(result); err != nil {
			report(result, Ended{Failed: err.Error()})
		}
		os.Exit(0)
	}
	var p Program
	if err := json.Unmarshal([]byte(os.Getenv(specVar)), &p); err != nil {
		report(result, Ended{Failed: err.Error()})
		os.Exit(1)
	}
	_ = os.Unsetenv(roleVar)
	_ = os.Unsetenv(specVar)
	report(result, runOnTerminal(p))
	os.Exit(0)
}

func report(to *os.File, e Ended) { _ = json.NewEncoder(to).Encode(e) }

// Run has a person run a program in a terminal of their own. The test is skipped
// where that cannot be done.
func Run(t testing.TB, p Program) Ended {
	t.Helper()
	e, err := Try(p)
	switch {
	case err != nil:
		t.Fatal(err)
	case strings.HasPrefix(e.Failed, noTerminals):
		t.Skip(e.Failed)
	case e.Failed != "":
		t.Fatal(e.Failed)
	}
	return e
}

// Try is Run for a caller without a test.
func Try(p Program) (Ended, error) {
	var e Ended
	spec, err := json.Marshal(p)
	if err != nil {
		return e, err
	}
	self, err := os.Executable()
	if err != nil {
		return e, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return e, err
	}
	defer read.Close()
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), p.Env...), roleVar+"=open", specVar+"="+string(spec))
	cmd.Dir, cmd.ExtraFiles = p.Dir, []*os.File{write}
	err = cmd.Run()
	_ = write.Close()
	if err != nil {
		return e, err
	}
	if err := json.NewDecoder(read).Decode(&e); err != nil {
		return e, fmt.Errorf("the terminal says nothing: %w", err)
	}
	return e, nil
}

// noTerminals begins the reason why there can be no terminal.
const noTerminals = "there are no pseudo-terminals"
