// Person does for scripts what a person does: it opens a terminal of its
// own, runs a command there, and types the codes that the command asks for. Its
// output, errors and exit code are the command's.
//
//	person callgate approvals approve a1b2c3
package main

import (
	"fmt"
	"os"

	"callgate/internal/peer/terminaltest"
)

// asked bounds how many codes one command may ask for.
const asked = 20

func main() {
	terminaltest.Play()
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: person COMMAND [ARGUMENT…]")
		return 2
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "person:", err)
		return 1
	}
	types := make([]terminaltest.Typing, asked)
	for i := range types {
		types[i] = terminaltest.Code()
	}
	e, err := terminaltest.Try(terminaltest.Program{Args: args, Dir: dir, Types: types})
	if err != nil || e.Failed != "" {
		fmt.Fprintln(os.Stderr, "person:", e.Failed, err)
		return 1
	}
	fmt.Print(e.Out)
	fmt.Fprint(os.Stderr, e.Err)
	return e.Exit
}
