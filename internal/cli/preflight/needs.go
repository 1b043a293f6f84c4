package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/cli/command"
	"callgate/internal/cli/doctor"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

// inOrder is the flags --tool and --args, which belong together by their order.
type inOrder struct {
	tools, args *[]string
	isArgs      bool
}

func (o *inOrder) String() string { return "" }

func (o *inOrder) Type() string {
	if o.isArgs {
		return "JSON"
	}
	return "NAME"
}

func (o *inOrder) Set(value string) error {
	if !o.isArgs {
		if value == "" {
			return fmt.Errorf("the name of a tool is empty")
		}
		*o.tools, *o.args = append(*o.tools, value), append(*o.args, "")
		return nil
	}
	last := len(*o.args) - 1
	switch {
	case last < 0:
		return fmt.Errorf("--args belongs to the --tool before it, and there is none")
	case (*o.args)[last] != "":
		return fmt.Errorf("%s has arguments already; name it again for another call", (*o.tools)[last])
	case strings.TrimSpace(value) == "":
		return fmt.Errorf("the arguments are empty; write {} for none")
	}
	(*o.args)[last] = value
	return nil
}

// agentTools adds what an agent is given of the tools, and whether its model is there.
func (p *preflight) agentTools(
	ctx context.Context, k *command.Kernel, s protocol.Session, r operations.PreflightReport,
) {
	if p.agent == "" {
		return
	}
	plan, err := k.Plan(ctx, protocol.PlanRequest{
		Workspace: s.Workspace, AppFile: s.AppFile, Agent: p.agent, WorkspaceNamed: true,
	})
	if err != nil {
		p.failed("agents", p.agent, err)
		return
	}
	f := Finding{Group: "agents", Name: plan.Agent, State: OK, Found: plan.Provider + "/" + plan.Model}
	if plan.Offline {
		f.State, f.Found = Note, "it has no language model"
	}
	p.add(f)
	for _, call := range r.Calls {
		given := slices.ContainsFunc(plan.PerTool, func(t protocol.ToolCost) bool { return t.Name == call.Tool })
		if call.Error == nil && !given {
			p.add(Finding{
				Group: "agents", Name: call.Tool, State: Refused, Found: "the agent " + plan.Agent + " is not given it",
				Fix: "name its module in the agent's modules",
			})
		}
	}
}

// needed are the programs that modules cannot work without.
func needed() map[string]string {
	return map[string]string{"browser": "chromium", "git": "git", "shell": "bash"}
}

// programs adds those that the modules of the named tools need; without names, those of all tools.
func (p *preflight) programs(ctx context.Context, s *client.Session, calls []operations.Judgement) {
	var used []string
	for _, j := range calls {
		module, _, _ := strings.Cut(j.Tool, ".")
		used = append(used, module)
	}
	if len(calls) == 0 {
		tools, err := s.Tools(ctx)
		if err != nil {
			p.failed("tools", "", err)
		}
		for _, t := range tools {
			used = append(used, t.ID.Namespace)
		}
	}
	slices.Sort(used)
	for _, module := range slices.Compact(used) {
		c, known := doctor.Program(ctx, needed()[module])
		if !known {
			continue
		}
		f := Finding{Group: "programs", Name: c.Name, State: OK, Found: c.Found, Fix: c.Fix}
		if c.State != doctor.OK {
			f.State = Broken
			if len(calls) == 0 { // a job that names no tools may not need it
				f.State = Note
			}
			if f.Found == "" {
				f.Found = "it is not installed, and the module " + module + " needs it"
			}
		}
		p.add(f)
	}
}
