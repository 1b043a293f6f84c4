package agentspawn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

const op = "agent_spawn.agent"

// The defaults of a call.
const (
	defaultTurns   = 100
	defaultTimeout = time.Hour
)

// arguments are the parameters, which met the schema.
type arguments struct {
	Prompt     string    `json:"prompt"`
	Specialist string    `json:"specialist"`
	Wait       bool      `json:"wait"`
	AgentID    string    `json:"agent_id"`
	AgentIDs   *[]string `json:"agent_ids"`
	RunIDs     *[]string `json:"run_ids"`
	Cancel     bool      `json:"cancel"`
	Reassign   bool      `json:"reassign"`
	List       bool      `json:"list_agents"`
	MaxTurns   int       `json:"max_turns"`
	Timeout    float64   `json:"timeout"`
	Agents     []one     `json:"agents"`
}

// one is an agent of several that are started at once.
type one struct {
	Prompt     string  `json:"prompt"`
	Task       string  `json:"task"`
	Specialist string  `json:"specialist"`
	Agent      string  `json:"agent"`
	MaxTurns   int     `json:"max_turns"`
	Timeout    float64 `json:"timeout"`
}

// Parse reads a call of the tool.
func Parse(call tool.Call) (module.AgentRequest, error) {
	in, err := module.Args[arguments](op, call)
	if err != nil {
		return module.AgentRequest{}, err
	}
	r := module.AgentRequest{Wait: in.Wait, Timeout: seconds(in.Timeout)}
	ids := in.AgentIDs
	if ids == nil {
		ids = in.RunIDs
	}
	switch {
	case in.AgentID != "" && ids != nil, in.AgentIDs != nil && in.RunIDs != nil:
		return r, invalid("agent_id and agent_ids exclude each other", "name one agent, or several")
	case in.AgentID != "":
		r.IDs = []string{in.AgentID}
	case ids != nil && slices.Contains(*ids, ""):
		return r, invalid("there is an empty agent_id among the agent_ids", "list_agents shows yours; [] is all that run")
	case ids != nil:
		r.All = len(*ids) == 0
		for _, id := range *ids {
			if !slices.Contains(r.IDs, id) {
				r.IDs = append(r.IDs, id)
			}
		}
	}
	return r, in.decide(&r)
}

// decide finds out what a call asks for, and refuses what contradicts itself.
func (in *arguments) decide(r *module.AgentRequest) error {
	prompt := !blank(in.Prompt)
	named, begins := len(r.IDs) > 0 || r.All, prompt || len(in.Agents) > 0
	switch {
	case in.List && (named || begins || in.Cancel || in.Reassign || in.Wait):
		return invalid("list_agents goes alone", "leave the others out; agent_ids [] with wait waits for all that run")
	case in.List:
		r.Mode = module.AgentList
	case in.Cancel && (in.Reassign || begins):
		return invalid("cancel goes with no new work", "cancel it first, or use reassign")
	case in.Cancel && !named, in.Reassign && !named:
		return invalid("it is not said which agent", "name it with agent_id; list_agents shows yours")
	case in.Cancel:
		r.Mode = module.AgentCancel
	case in.Reassign && (len(r.IDs) != 1 || !prompt || len(in.Agents) > 0):
		return invalid("reassign takes one agent_id and a prompt", "say which agent, and what it is to do")
	case in.Reassign:
		r.Mode, r.Work = module.AgentReassign, []module.AgentWork{in.work()}
	case named && begins:
		return invalid("prompt begins an agent, and agent_id names one that there is",
			"leave one of them out, or add reassign to give that agent new work")
	case named:
		r.Mode = module.AgentStatus
	case prompt && len(in.Agents) > 0:
		return invalid("prompt begins one agent, and agents several", "leave one of them out")
	case prompt:
		r.Mode, r.Work = module.AgentSpawn, []module.AgentWork{in.work()}
	case len(in.Agents) > 0:
		return in.several(r)
	default:
		return invalid("it is not said what to do", "give a prompt to begin an agent, agent_id to see one, or list_agents")
	}
	return nil
}

// several reads agents that are started at once.
func (in *arguments) several(r *module.AgentRequest) error {
	r.Mode = module.AgentSpawn
	for _, a := range in.Agents {
		each := arguments{
			Prompt: a.Prompt, Specialist: cmp.Or(a.Specialist, a.Agent, in.Specialist),
			MaxTurns: cmp.Or(a.MaxTurns, in.MaxTurns), Timeout: cmp.Or(a.Timeout, in.Timeout),
		}
		if blank(each.Prompt) {
			each.Prompt = a.Task
		}
		if blank(each.Prompt) {
			return invalid("one of the agents has no prompt", "say in each prompt what it is to do")
		}
		r.Work = append(r.Work, each.work())
	}
	return nil
}

func (in *arguments) work() module.AgentWork {
	w := module.AgentWork{
		Prompt: in.Prompt, Specialist: in.Specialist, MaxTurns: in.MaxTurns, Timeout: seconds(in.Timeout),
	}
	if w.MaxTurns == 0 {
		w.MaxTurns = defaultTurns
	}
	return w
}

func seconds(n float64) time.Duration {
	if n == 0 {
		return defaultTimeout
	}
	return time.Duration(n * float64(time.Second))
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

func invalid(text, hint string) error {
	return tool.Errorf(op, tool.Invalid, "%s", text).WithHint("%s", hint)
}
