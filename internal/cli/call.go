package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/cli/argv"
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
  --content -                             a string: what standard input holds
  --args '{…}'  --args @file  --args -    all of them; flags override its fields

max_results may be written --max-results, and the tool by any name that finds
it. Where a parameter has the name of a flag of this command, the parameter is
meant: the command's flag then stands before NAME. After -- every flag is the
tool's. "callgate tools call NAME --help" lists what a tool takes.

A call that a human must approve is shown here when this is a terminal.
Elsewhere the command waits until somebody answers, or, with --no-wait, ends
with exit code 4; the call then runs once it is approved.`

// callFlags are the flags of one call.
type callFlags struct {
	noWait bool
	help   bool
}

func (f *callFlags) bind(set *pflag.FlagSet) {
	set.BoolVar(&f.noWait, "no-wait", f.noWait, "do not wait for a human: end with exit code 4")
	set.BoolVarP(&f.help, "help", "h", f.help, "what the tool takes")
}

// ownFlags are the command's flags as they may stand among the tool's. Those
// that say where the tool is to be found must be known before the tool is, so
// they do not yield to it.
func ownFlags(set *pflag.FlagSet) []argv.CommandFlag {
	var own []argv.CommandFlag
	set.VisitAll(func(f *pflag.Flag) {
		where := f.Name == "state" || f.Name == "workspace" || f.Name == "app"
		own = append(own, argv.CommandFlag{Name: f.Name, Short: f.Shorthand, Takes: f.NoOptDefVal == "", Yields: !where})
	})
	return own
}

func (p *program) callCommand() *cobra.Command {
	c := p.leaf("call NAME [--parameter value …]", "Call a tool", `  callgate tools call filesystem.read --path README.md
  callgate tools call Write --path note.txt --content - < note
  callgate tools call filesystem.edit --args @edit.json --json`, cobra.ArbitraryArgs, nil)
	c.Long = callLong
	c.DisableFlagParsing = true // the tool's flags are not known yet
	c.ValidArgsFunction = p.completeCall
	new(callFlags).bind(c.Flags()) // for the help text
	c.RunE = p.guard(p.call)
	return c
}

// call reads a command line in two steps: what stands before the tool's name
// and says where to find it, then, with the tool at hand, all the rest.
func (p *program) call(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	var flags callFlags
	set := pflag.NewFlagSet("call", pflag.ContinueOnError)
	set.SetInterspersed(false)
	set.Usage = func() {}
	p.globals(set)
	flags.bind(set)
	if err := set.Parse(args); err != nil {
		return usage(cmd, err)
	}
	if set.NArg() == 0 {
		if flags.help {
			return cmd.Help()
		}
		return tool.Errorf("cli.call", tool.Invalid, "which tool?").
			WithHint("callgate tools list shows them; callgate tools call --help shows how to call one")
	}
	own := ownFlags(set)
	name, rest := set.Arg(0), set.Args()[1:]
	before := *p
	if err := setOwnFlags(set, argv.Scan(own, rest)); err != nil {
		return usage(cmd, err)
	}
	return p.session(ctx, p.atTerminal() && !flags.noWait && !flags.help, func(k *kernel, s *client.Session) error {
		t, err := s.Tool(ctx, name)
		unknown := tool.KindOf(err) == tool.NotFound
		if err != nil && !unknown {
			return err
		}
		params, err := argv.Params(t.Input)
		if err != nil {
			return err
		}
		read := argv.Command{Tool: t.Name, Params: params, Own: own, Stdin: p.Stdin, AllowUnknown: unknown}
		if !unknown {
			// Now it is known which of those flags are the tool's own.
			p.json, p.noColor, flags = before.json, before.noColor, callFlags{}
			_ = set.Parse(args)
		}
		line, err := read.Parse(rest)
		if err != nil {
			p.json = p.json || asksJSON(own, rest, params)
			return err
		}
		if err := setOwnFlags(set, line.Own); err != nil {
			return usage(cmd, err)
		}
		if flags.help && !unknown {
			return p.callHelp(t)
		}
		// One that is not known is asked for all the same: the kernel says
		// whether it is refused or not there, and writes it down.
		return p.makeCall(ctx, k, s, t, params, protocol.CallRequest{Name: name, Args: line.Args, NoWait: flags.noWait})
	})
}

// setOwnFlags sets the command's own flags as they were found among the tool's.
func setOwnFlags(set *pflag.FlagSet, found []argv.FlagValue) error {
	for _, g := range found {
		if err := set.Set(g.Name, g.Value); err != nil {
			return err
		}
	}
	return nil
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

func (p *program) callHelp(t protocol.Tool) error {
	if p.json {
		return p.writeJSON(t)
	}
	s := p.style(p.Stdout)
	if err := s.Usage(p.Stdout, t, p.self()+" tools call"); err != nil {
		return writeError(err)
	}
	var set pflag.FlagSet
	p.globals(&set)
	new(callFlags).bind(&set)
	_, err := p.Stdout.Write([]byte("\n" + s.Strong("Flags of the command") + "\n" + set.FlagUsages()))
	return writeError(err)
}

// makeCall makes the call and shows how it ended.
func (p *program) makeCall(ctx context.Context, k *kernel, s *client.Session, t protocol.Tool, params []argv.Param, call protocol.CallRequest) error {
	result, err := p.ask(ctx, k, s, t, call)
	if ctx.Err() != nil {
		result, err = p.resultAfterCancel(ctx, k, s), nil
	}
	if err != nil {
		return err
	}
	example := ""
	if result.Error != nil && len(result.Error.Example) > 0 {
		example = render.Call(p.self()+" tools call", t.Name, params, result.Error.Example)
	}
	return p.showResult(result, example)
}

// showResult writes a result: what it holds to standard output, what is said
// about it to standard error.
func (p *program) showResult(r *tool.Result, example string) error {
	if p.json {
		if err := p.writeJSON(r); err != nil {
			return err
		}
		return ended(codeOfResult(r))
	}
	if err := p.payload(r); err != nil {
		return err
	}
	for _, w := range r.Warnings {
		p.status("warning: %s", w)
	}
	switch {
	case r.Status == tool.Waiting:
		p.status("callgate: %s", strings.TrimSpace(strings.Split(r.Summary, " (answer with")[0]))
		p.howToAnswer(r.Approval)
	case r.Error != nil:
		p.explain(r.Error, example)
	case r.Status == tool.Success:
		p.status("%s", r.Summary)
	default:
		p.status("callgate: %s", r.Summary)
	}
	if r.ArtifactRef != "" {
		p.status("the whole of it: %s artifact %s", p.self(), r.ArtifactRef)
	}
	return ended(codeOfResult(r))
}

// payload writes what a result holds: its text as it is, or else its data.
func (p *program) payload(r *tool.Result) error {
	if len(r.Content) == 0 {
		if len(r.Data) == 0 {
			return nil
		}
		_, err := p.Stdout.Write([]byte(pretty(r.Data) + "\n"))
		return writeError(err)
	}
	_, toTerminal := terminal(p.Stdout)
	for _, c := range r.Content {
		if c.Type != "text" {
			p.status("an image (%s, %d bytes) is left out; --json holds it", c.MIME, len(c.Data))
			continue
		}
		text := c.Text
		if toTerminal && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := p.Stdout.Write([]byte(text)); err != nil {
			return writeError(err)
		}
	}
	return nil
}

// pretty writes data for a person: a string as its text, the rest as JSON.
func pretty(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return render.JSON(data)
}

// howToAnswer tells how somebody can settle an approval.
func (p *program) howToAnswer(id string) {
	p.status("  look      %s approvals show %s", p.self(), id)
	p.status("  approve   %s approvals approve %s", p.self(), id)
	p.status("  deny      %s approvals deny %s", p.self(), id)
}
