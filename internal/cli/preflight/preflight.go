// Package preflight has the command that tells, before a job starts, whether what it needs will work.
//
// The law: no tool is called, nobody is asked, and nothing is written. Servers are started, because whether they
// come up cannot be told otherwise; --no-servers leaves that out.
package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// State is how one thing stands.
type State string

// The states, from the best to the worst.
const (
	OK      State = "ok"
	Note    State = "note" // it works, and somebody should know
	Asks    State = "asks" // a human is needed first
	Refused State = "refused"
	Broken  State = "broken" // or missing
)

// Finding is one thing that was checked.
type Finding struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found,omitempty"`
	Fix   string `json:"fix,omitempty"`
}

// Report is what preflight writes with --json.
type Report struct {
	State    State     `json:"state"` // the worst of all
	Exit     int       `json:"exit_code"`
	Findings []Finding `json:"findings"`
}

// preflight is tools preflight.
type preflight struct {
	*command.Env
	tools, args []string
	agent       string
	noServers   bool
	findings    []Finding
}

// Command returns the command, a child of tools.
func Command(e *command.Env) *cobra.Command {
	p := &preflight{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "preflight", Short: "Check, without calling anything, that what a job needs will work",
		Long: `Check, without calling anything, that what a job needs will work: the app file and what it
needs consent for, its servers, modules, models, secrets and programs, and the tools that are
named. --args gives the arguments of the tool named before it, which are judged by its schema
and by the rules. Hooks are not run.

The exit code is 0 when everything would run, 20 when something would ask a human first,
21 when something would be refused, and 22 when something is missing or broken.`,
		Example: `  callgate tools preflight --tool filesystem.read --tool shell.run
  callgate tools preflight --tool filesystem.write --args '{"path":"out.txt","content":"x"}' --json`,
		Args: cobra.NoArgs,
	}, p.run)
	c.Flags().Var(&inOrder{&p.tools, &p.args, false}, "tool", "a tool that the job calls; may be repeated")
	c.Flags().Var(&inOrder{&p.tools, &p.args, true}, "args", "the arguments of the tool before it, as `JSON`")
	c.Flags().StringVar(&p.agent, "agent", "", "check what the agent `NAME` of the app is given, and its model")
	c.Flags().BoolVar(&p.noServers, "no-servers", false, "do not start servers to see whether they come up")
	return c
}

func (p *preflight) run(ctx context.Context, _ []string) error {
	calls := make([]operations.PreflightCall, len(p.tools))
	for i, name := range p.tools {
		calls[i] = operations.PreflightCall{Name: name}
		if p.args[i] == "" {
			continue
		}
		if calls[i].Args = json.RawMessage(p.args[i]); !json.Valid(calls[i].Args) {
			return tool.Errorf("cli.preflight", tool.Invalid, "the arguments of %s are no JSON: %s", tool.Truncate(name),
				tool.Truncate(p.args[i])).WithHint(`write them as --args '{"path":"a.txt"}'`)
		}
	}
	err := p.Session(ctx, command.SessionOptions{Quiet: true}, func(k *command.Kernel, s *client.Session) error {
		p.app(s.Session)
		p.servers(ctx, s)
		report, err := s.Preflight(ctx, operations.Preflight{Calls: calls})
		if err != nil {
			return err
		}
		p.parts(report, s.Warnings)
		p.agentTools(ctx, k, s.Session, report)
		p.judged(report.Calls)
		p.programs(ctx, s, report.Calls)
		return nil
	})
	if ctx.Err() != nil {
		return err
	}
	if group := "app file"; err != nil {
		if kind := tool.KindOf(err); kind == tool.Unavailable || kind == tool.Conflict || kind == tool.Busy {
			group = "kernel"
		}
		p.failed(group, "", err)
	}
	return p.end()
}

func (p *preflight) add(f Finding) { p.findings = append(p.findings, f) }

// failed adds something that is broken.
func (p *preflight) failed(group, name string, err error) {
	f := Finding{Group: group, Name: name, State: Broken, Found: err.Error()}
	var e *tool.Error
	if errors.As(err, &e) {
		f.Found, f.Fix = e.Message, e.Hint
	}
	p.add(f)
}

// app adds the app file, and what a human has not accepted of it.
func (p *preflight) app(s protocol.Session) {
	f := Finding{Group: "app file", Name: s.App, State: OK, Found: strings.Join(s.AppFiles, ", ")}
	if len(s.AppFiles) == 0 {
		f.Found = "there is none; what no rule names is decided by its risk"
	}
	p.add(f)
	if s.PendingConsent != "" {
		p.add(Finding{
			Group: "app file", Name: "consent", State: Asks, Found: s.PendingConsent,
			Fix: "a person reviews and accepts it: callgate app trust",
		})
	}
}

// servers adds the app's servers: whether a human accepted them, and whether they come up.
func (p *preflight) servers(ctx context.Context, s *client.Session) {
	list, err := s.Servers(ctx)
	if err != nil {
		p.failed("servers", "", err)
	}
	for _, one := range list {
		f := Finding{Group: "servers", Name: one.Name, State: OK, Found: amount.Of(one.Tools, "tool")}
		switch {
		case !one.Accepted:
			f.State, f.Found = Asks, "nobody has accepted what it runs: "+one.Launch
			f.Fix = "a person reviews and accepts it: callgate mcp trust " + one.Name
		case p.noServers:
			f.State, f.Found = Note, "not started"
		default:
			status, err := s.Refresh(ctx, one.Name)
			if err != nil {
				p.failed("servers", one.Name, err)
				continue
			}
			f.Found = "comes up, with " + amount.Of(status.Tools, "tool")
		}
		p.add(f)
	}
	if list, err = s.Servers(ctx); err != nil { // starting one may have shown definitions that changed
		return
	}
	for _, one := range list {
		for _, held := range one.Held {
			p.add(Finding{
				Group: "servers", Name: one.Name + "." + held.Definition.Name, State: Asks,
				Found: "its definition is held: " + string(held.Reason),
				Fix:   "a person reviews it: callgate mcp trust " + one.Name,
			})
		}
	}
}

// parts adds modules and models that lack something, and what else the app's user should know.
func (p *preflight) parts(r operations.PreflightReport, warnings []string) {
	told := func(text string) bool {
		same := func(one operations.Problem) bool { return strings.Contains(text, one.Text) }
		return slices.ContainsFunc(slices.Concat(r.Modules, r.Models), same) ||
			strings.Contains(text, "callgate app trust") || strings.Contains(text, "callgate mcp trust")
	}
	for _, one := range r.Modules {
		p.add(Finding{Group: "modules", Name: one.Name, State: Broken, Found: one.Text})
	}
	for _, one := range r.Models {
		p.add(Finding{Group: "models", Name: one.Name, State: Broken, Found: one.Text})
	}
	for _, text := range warnings {
		if !told(text) {
			p.add(Finding{Group: "app file", Name: "warning", State: Note, Found: text})
		}
	}
}

// judged adds what would become of each call.
func (p *preflight) judged(calls []operations.Judgement) {
	for _, j := range calls {
		f := Finding{Group: "tools", Name: j.Name, State: OK, Found: "runs"}
		if j.Tool != "" && j.Tool != j.Name {
			f.Found = "is " + j.Tool + ", and runs"
		}
		if j.Reason != "" {
			f.Found += ": " + j.Reason
		}
		switch {
		case j.Error != nil:
			f.State, f.Found, f.Fix = Broken, j.Error.Message, j.Error.Hint
			if j.Error.Kind == tool.Denied {
				f.State = Refused
			}
		case j.Verdict == operations.Asked:
			f.State, f.Found = Asks, "asks a human first"
			if j.Reason != "" {
				f.Found += ": " + j.Reason
			}
		}
		if j.Depends {
			f.Found += " (rules look at its arguments: name some with --args)"
		}
		p.add(f)
	}
}

// end writes the report, and gives the exit code.
func (p *preflight) end() error {
	r := Report{State: OK, Findings: p.findings}
	order := []State{OK, Note, Asks, Refused, Broken}
	for _, f := range r.Findings {
		if slices.Index(order, f.State) > slices.Index(order, r.State) {
			r.State = f.State
		}
	}
	r.Exit = map[State]int{
		Asks: command.ExitAsks, Refused: command.ExitRefused, Broken: command.ExitBroken,
	}[r.State]
	if p.JSON {
		if err := p.WriteJSON(r); err != nil {
			return err
		}
		return command.Exit(r.Exit)
	}
	rows := make([][]render.Cell, len(r.Findings))
	for i, f := range r.Findings {
		rows[i] = []render.Cell{
			render.Plain(string(f.State)), render.Plain(f.Group), render.Bold(f.Name), render.Plain(f.Found),
		}
	}
	if err := p.Style(p.Stdout).Table(p.Stdout, []string{"STATE", "WHAT", "NAME", "FOUND"}, rows); err != nil {
		return command.WriteError(err)
	}
	for _, f := range r.Findings {
		if f.Fix != "" {
			p.Status("%s: %s", text.OneLine(f.Name), text.OneLine(f.Fix))
		}
	}
	p.Status("%s", verdict(r))
	return command.Exit(r.Exit)
}

// verdict sums the report up in a line.
func verdict(r Report) string {
	count := func(s State) (n int) {
		for _, f := range r.Findings {
			if f.State == s {
				n++
			}
		}
		return n
	}
	if r.Exit == 0 {
		return "everything would run"
	}
	return fmt.Sprintf("%d missing or broken, %d refused, %d would ask a human",
		count(Broken), count(Refused), count(Asks))
}
