package tools

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

const callLong = `Call a tool. Its parameters are flags:

  --path README.md   --path=README.md     a value
  --recursive        --recursive=false    a boolean; --no-recursive too
  --tag a --tag b    --tag '["a","b"]'    a list: repeated, or as JSON
  --headers '{"A": "b"}'                  an object: as JSON
  --content -                             a string: all of standard input
  --args '{…}'  --args @file  --args -    all of them; flags override its fields

max_results may be written --max-results, and the tool by any of its names.
Where a parameter has the name of a flag of this command, the parameter is
meant; the command's flag then stands before NAME. After -- every flag is the
tool's. "callgate tools call NAME --help" lists a tool's parameters.

A call that a human must approve is shown here when this is a terminal.
Elsewhere the command waits for an answer or, with --no-wait, exits with code 4;
the call then runs once it is approved.`

// callFlags are the command's own flags.
type callFlags struct {
	noWait bool
	help   bool
	model  string
}

func (f *callFlags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.noWait, "no-wait", f.noWait, "do not wait for a human: exit with code 4")
	set.StringVar(&f.model, "model", f.model, "have an LLM-backed tool ask `PROVIDER/MODEL` and no other")
	set.BoolVarP(&f.help, "help", "h", f.help, "list the tool's parameters")
}

func newCall(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use: "call NAME [--parameter value …]", Short: "Call a tool", Long: callLong,
		Example: `  callgate tools call filesystem.read --path README.md
  callgate tools call Write --path note.txt --content - < note
  callgate tools call filesystem.edit --args @edit.json --json`,
		Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
		DisableFlagParsing: true, // the tool's flags are not known yet
		ValidArgsFunction:  completion{e}.parameters,
	}
	new(callFlags).bind(c.Flags()) // for the help text
	c.RunE = e.Start(func(cmd *cobra.Command, args []string) error {
		set := pflag.NewFlagSet("call", pflag.ContinueOnError)
		set.SetInterspersed(false)
		set.Usage = func() {}
		call := &call{Env: e, cmd: cmd, set: set}
		e.Bind(set)
		call.flags.bind(set)
		return call.run(cmd.Context(), args)
	})
	return c
}

// call is tools call. It reads its command line in two steps: what stands
// before the tool's name and says where to find the tool; then, with the tool's
// parameters known, all the rest.
type call struct {
	*command.Env
	cmd   *cobra.Command
	set   *pflag.FlagSet
	flags callFlags
	own   []argv.CommandFlag // the command's own flags as they may stand among the tool's
	rest  []string           // what follows the tool's name
}

func (c *call) run(ctx context.Context, args []string) error {
	if err := c.set.Parse(args); err != nil {
		return command.Usage(c.cmd, err)
	}
	if c.set.NArg() == 0 {
		if c.flags.help {
			return c.cmd.Help()
		}
		return tool.Errorf("cli.call", tool.Invalid, "which tool?").
			WithHint("callgate tools list shows them; callgate tools call --help shows how to call one")
	}
	name := c.set.Arg(0)
	c.own, c.rest = ownFlags(c.set), c.set.Args()[1:]
	before := c.Flags
	if err := c.setOwn(argv.Scan(c.own, c.rest)); err != nil {
		return err
	}
	human := c.AtTerminal() && !c.flags.noWait && !c.flags.help
	return c.Session(ctx, command.SessionOptions{Human: human}, func(k *command.Kernel, s *client.Session) error {
		t, err := s.Tool(ctx, name)
		unknown := tool.KindOf(err) == tool.NotFound
		if err != nil && !unknown {
			return err
		}
		if !unknown {
			// Now it is known which of those flags are the tool's own.
			c.JSON, c.NoColor, c.flags = before.JSON, before.NoColor, callFlags{}
			_ = c.set.Parse(args)
		}
		params, parsed, err := c.parse(t, unknown)
		if err != nil {
			return err
		}
		if c.flags.help && !unknown {
			return c.help(t)
		}
		// The kernel is asked for an unknown tool too: it says whether the tool is
		// denied or does not exist, and records the request.
		a := &asking{Env: c.Env, kernel: k, session: s, tool: t}
		result, err := a.call(ctx, protocol.CallRequest{
			Name: name, Args: parsed.Args, NoWait: c.flags.noWait, ModelChoice: tool.ModelChoice{Model: c.flags.model},
		})
		if err != nil {
			return err
		}
		return c.show(t, params, result)
	})
}

// parse reads what follows the tool's name.
func (c *call) parse(t protocol.Tool, unknown bool) ([]argv.Param, argv.Parsed, error) {
	params, err := argv.Params(t.Input)
	if err != nil {
		return nil, argv.Parsed{}, err
	}
	read := argv.Command{Tool: t.Name, Params: params, Own: c.own, Stdin: c.Stdin, Path: c.Path, AllowUnknown: unknown}
	parsed, err := read.Parse(c.rest)
	if err != nil {
		c.JSON = c.JSON || asksJSON(c.own, c.rest, params)
		return nil, argv.Parsed{}, err
	}
	return params, parsed, c.setOwn(parsed.Own)
}

// show writes how the call ended.
func (c *call) show(t protocol.Tool, params []argv.Param, r *tool.Result) error {
	example := ""
	if r.Error != nil && len(r.Error.Example) > 0 {
		example = render.Call(c.Self()+" tools call", t.Name, params, r.Error.Example)
	}
	return c.Result(r, example)
}

func (c *call) help(t protocol.Tool) error {
	if c.JSON {
		return c.WriteJSON(t)
	}
	s := c.Style(c.Stdout)
	if err := s.Usage(c.Stdout, t, c.Self()+" tools call"); err != nil {
		return command.WriteError(err)
	}
	var set pflag.FlagSet
	c.Bind(&set)
	new(callFlags).bind(&set)
	_, err := c.Stdout.Write([]byte("\n" + s.Strong("Flags of the command") + "\n" + set.FlagUsages()))
	return command.WriteError(err)
}

// setOwn sets the command's own flags as they were found among the tool's.
func (c *call) setOwn(found []argv.FlagValue) error {
	for _, g := range found {
		if err := c.set.Set(g.Name, g.Value); err != nil {
			return command.Usage(c.cmd, err)
		}
	}
	return nil
}

// ownFlags are the command's flags as they may stand among the tool's. The flags
// that say where to find the tool must be known before it, so a parameter of the
// same name does not replace them.
func ownFlags(set *pflag.FlagSet) []argv.CommandFlag {
	var own []argv.CommandFlag
	set.VisitAll(func(f *pflag.Flag) {
		where := f.Name == "state" || f.Name == "workspace" || f.Name == "app"
		own = append(own, argv.CommandFlag{Name: f.Name, Short: f.Shorthand, Takes: f.NoOptDefVal == "", Yields: !where})
	})
	return own
}

// asksJSON reports whether a command line that cannot be read asks for JSON.
func asksJSON(own []argv.CommandFlag, rest []string, params []argv.Param) bool {
	for _, p := range params {
		if p.Name == "json" {
			return false
		}
	}
	for _, g := range argv.Scan(own, rest) {
		if g.Name == "json" && g.Value == "true" {
			return true
		}
	}
	return false
}
