// Command callgate is the gate between language models and their tools: the
// daemon, and the command line that speaks to it.
//
// # What a process is
//
// One program file is several kinds of process. They are told apart here, in
// this order:
//
//   - A sandbox helper. A kernel starts it as a second start of the program that
//     it runs in, with an argument list that nobody types. The import of
//     internal/sandbox/selfstart recognises it while packages are initialised,
//     before the large libraries are, because a tool may start several.
//   - A PDF reader (internal/pdftext), recognised first in main.
//   - Everything else is a command line (internal/cli). Among them are two that
//     stay: `callgate up` is a kernel, and `callgate mcp` is a bridge, a pipe
//     between an MCP client and the kernel. By the time main runs, every package
//     is initialised, which a bridge does not need; so it returns that memory to
//     the system (internal/memtrim) as soon as its client is served. Package
//     variables that are costly to compute are computed on first use
//     (internal/lazyregexp), because each of these processes pays for them.
package main

import (
	"os"

	"callgate/internal/cli"
	"callgate/internal/pdftext"
	_ "callgate/internal/sandbox/selfstart" // started as the sandbox's helper, this program never reaches main
)

func main() {
	if pdftext.RunHelper() {
		return
	}
	os.Exit(cli.Main(os.Args[1:]))
}
