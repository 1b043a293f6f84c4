// Command callgate is the one door between language models and their tools:
// the daemon, and the command line that speaks to it.
package main

import (
	"os"

	"callgate/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
