//go:build linux

// Gatebench measures what a call of an MCP server costs through the real program, beside a bare forwarder and beside
// the server itself, in turns: the median time of a call, the processor time of what stands between, and the calls a
// second of many callers. It prints the medians of the rounds, and the ratios to the forwarder.
//
//	gatebench --binary bin/callgate --person bin/person --rounds 10
//
// The forwarder is this program (gatebench forward COMMAND): the MCP SDK on both sides, and nothing between them. It
// decides nothing, records nothing and bounds nothing. With --other another program is measured too, over streamable
// HTTP, and the ratios are to that one.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

type settings struct {
	binary, person string
	before         string
	other          string // a command
	otherURL       string
	rounds         int
	calls          int
	servers, tools int
	write, http    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "server":
		err = serve(os.Stdin, os.Stdout, os.Args[2:])
	case len(os.Args) > 2 && os.Args[1] == "forward":
		err = forward(ctx, os.Args[2:])
	default:
		var s settings
		flag.StringVar(&s.binary, "binary", "bin/callgate", "the built program")
		flag.StringVar(&s.before, "before", "", "another build of the program, which is measured beside it")
		flag.StringVar(&s.other, "other", "", "a command that serves the same server with another program, over streamable "+
			"HTTP: it has to be told to run gatebench server")
		flag.StringVar(&s.otherURL, "other-url", "http://127.0.0.1:9191/s0/", "where that command serves it")
		flag.StringVar(&s.person, "person", "bin/person", "the built scripts/person")
		flag.IntVar(&s.rounds, "rounds", 10, "how often each way is measured")
		flag.IntVar(&s.calls, "calls", 2000, "calls of one caller in a round; four times as many of 16")
		flag.IntVar(&s.servers, "servers", 0, "measure the kernel's memory with so many servers, and nothing else")
		flag.IntVar(&s.tools, "tools", 527, "how many tools those servers have together")
		flag.BoolVar(&s.http, "http", false, "measure clients over HTTP (callgate mcp --http), too")
		flag.BoolVar(&s.write, "write", false, "call a tool that may change something: its records are waited for")
		flag.Parse()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gatebench "+strings.Join(os.Args[1:], " ")+":", err)
		os.Exit(1)
	}
}
