package tools

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/command"
	"callgate/internal/source/executable/hosttools"
	"callgate/tool"
)

const hostCallLong = `Have the kernel run a tool, from a program that the kernel runs in the sandbox: an
executable tool whose manifest names the tool in host_tools. Parameters are written as for
callgate tools call; what they are is not known here, so a list is written as JSON.

It is a call of the session for which the program runs, judged as any other. Content goes
to standard output, everything about it to standard error, and the exit code is that of
callgate tools call. After the program has ended nothing is run for it.`

// newHostCall is tools host-call.
func newHostCall(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "host-call NAME [--parameter value …]", Short: "Call a tool from a program in the sandbox", Long: hostCallLong,
		Example: `  callgate tools host-call filesystem.read --path a.txt
  callgate tools host-call memory.query --query apples --json`,
		Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
		DisableFlagParsing: true, // the tool's flags are not known
		ValidArgsFunction:  cobra.NoFileCompletions,
	}
	c.RunE = e.Start(func(cmd *cobra.Command, args []string) error {
		set := pflag.NewFlagSet("host-call", pflag.ContinueOnError)
		set.SetInterspersed(false)
		set.Usage = func() {}
		var help bool
		e.Bind(set)
		set.BoolVarP(&help, "help", "h", false, "show how it is used")
		if err := set.Parse(args); err != nil {
			return command.Usage(cmd, err)
		}
		switch {
		case help:
			return cmd.Help()
		case set.NArg() == 0:
			return tool.Errorf("cli.hostCall", tool.Invalid, "which tool?").
				WithHint("one that the manifest of this program names in host_tools")
		}
		return hostCall(cmd, e, set)
	})
	return c
}

func hostCall(cmd *cobra.Command, e *command.Env, set *pflag.FlagSet) error {
	name := set.Arg(0)
	read := argv.Command{Tool: name, Own: ownFlags(set), Stdin: e.Stdin, Path: e.Path, AllowUnknown: true}
	parsed, err := read.Parse(set.Args()[1:])
	if err != nil {
		return err
	}
	for _, g := range parsed.Own {
		if err := set.Set(g.Name, g.Value); err != nil {
			return command.Usage(cmd, err)
		}
	}
	conn, err := hosttools.Inherited(e.Getenv(hosttools.Variable))
	if err != nil {
		return err
	}
	defer conn.Close()
	result, err := hosttools.Ask(conn, name, parsed.Args)
	if err != nil {
		return err
	}
	return e.Result(result, "")
}
