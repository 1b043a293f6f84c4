// Command callgate is the one door between language models and their tools:
// the daemon, and the command line that speaks to it.
package main

import (
	"os"

	"callgate/internal/cli"
	"callgate/internal/module/web/pdftext"
	_ "callgate/internal/sandbox/selfstart" // started as the sandbox's helper, this program never reaches main
)

func main() {
	// The kernel starts this program again for work that needs a process of its
	// own. Such a process is a helper and nothing else, so helpers come before
	// anything else. Each is recognised by its arguments.
	if pdftext.RunHelper() {
		return
	}

	os.Exit(cli.Main(os.Args[1:]))
}
