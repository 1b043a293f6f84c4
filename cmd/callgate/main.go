// Command callgate is the one door between language models and their tools:
// the daemon, and the command line that speaks to it.
package main

import (
	"os"

	"callgate/internal/cli"
	_ "callgate/internal/sandbox/selfstart" // started as the sandbox's helper, this program never reaches main
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
