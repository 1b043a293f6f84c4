package agentspawn_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/schema"
	"callgate/internal/gate/schema/schematest"
	"callgate/internal/module"
	"callgate/internal/module/agentspawn"
	"callgate/tool"
)

// inputSchema is that of the tool, as the gate checks arguments by it.
func inputSchema(t testing.TB) *schema.Schema {
	t.Helper()
	made, err := agentspawn.Module().Open(module.Host{})
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, string(made.Tools[0].Spec.Input))
}

// parse reads arguments as they reach the tool: after the gate has checked them.
func parse(s *schema.Schema, args string) (module.AgentRequest, error) {
	checked, err := s.Check(json.RawMessage(args), schema.Lenient)
	if err != nil {
		return module.AgentRequest{}, err
	}
	return agentspawn.Parse(tool.Call{Args: checked.Args})
}

// A call means one thing.
func TestParse(t *testing.T) {
	t.Parallel()
	s := inputSchema(t)
	hour := time.Hour
	work := func(w ...module.AgentWork) []module.AgentWork { return w }
	for args, want := range map[string]module.AgentRequest{
		`{"prompt":"p"}`: {
			Mode: module.AgentSpawn, Timeout: hour, Work: work(module.AgentWork{Prompt: "p", MaxTurns: 100, Timeout: hour}),
		},
		`{"prompt":"p","specialist":"s","wait":true,"max_turns":7,"timeout":2.5}`: {
			Mode: module.AgentSpawn, Wait: true, Timeout: 2500 * time.Millisecond,
			Work: work(module.AgentWork{Prompt: "p", Specialist: "s", MaxTurns: 7, Timeout: 2500 * time.Millisecond}),
		},
		`{"agents":[{"prompt":"p"},{"task":"q","agent":"t","max_turns":3,"timeout":9}],"specialist":"s","timeout":5}`: {
			Mode: module.AgentSpawn, Timeout: 5 * time.Second, Work: work(
				module.AgentWork{Prompt: "p", Specialist: "s", MaxTurns: 100, Timeout: 5 * time.Second},
				module.AgentWork{Prompt: "q", Specialist: "t", MaxTurns: 3, Timeout: 9 * time.Second}),
		},
		`{"agent_id":"a"}`:                     {Mode: module.AgentStatus, IDs: []string{"a"}, Timeout: hour},
		`{"agent_id":"a","wait":true}`:         {Mode: module.AgentStatus, IDs: []string{"a"}, Wait: true, Timeout: hour},
		`{"agent_ids":["b","a","b"]}`:          {Mode: module.AgentStatus, IDs: []string{"b", "a"}, Timeout: hour},
		`{"run_ids":["b"],"wait":true}`:        {Mode: module.AgentStatus, IDs: []string{"b"}, Wait: true, Timeout: hour},
		`{"agent_ids":[],"wait":true}`:         {Mode: module.AgentStatus, All: true, Wait: true, Timeout: hour},
		`{"agent_ids":[],"cancel":true}`:       {Mode: module.AgentCancel, All: true, Timeout: hour},
		`{"agent_id":"a","cancel":true}`:       {Mode: module.AgentCancel, IDs: []string{"a"}, Timeout: hour},
		`{"list_agents":true}`:                 {Mode: module.AgentList, Timeout: hour},
		`{"list_agents":true,"wait":false}`:    {Mode: module.AgentList, Timeout: hour},
		`{"agent_id":"a","list_agents":false}`: {Mode: module.AgentStatus, IDs: []string{"a"}, Timeout: hour},
		`{"agent_id":"a","reassign":true,"prompt":"p"}`: {
			Mode: module.AgentReassign, IDs: []string{"a"}, Timeout: hour,
			Work: work(module.AgentWork{Prompt: "p", MaxTurns: 100, Timeout: hour}),
		},
	} {
		got, err := parse(s, args)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v; want %+v", args, got, err, want)
		}
	}
}

// A call that contradicts itself, or says nothing, is refused with what to do.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	s := inputSchema(t)
	for args, says := range map[string]string{
		`{}`:                          "not said what to do",
		`{"prompt":" \n"}`:            "not said what to do",
		`{"wait":true}`:               "not said what to do",
		`{"specialist":"s"}`:          "not said what to do",
		`{"agents":[{"prompt":" "}]}`: "has no prompt",
		`{"agents":[{"agent":"x"}]}`:  "has no prompt",
		`{"prompt":"p","agents":[{"prompt":"q"}]}`:                                "agents several",
		`{"agent_id":"a","agent_ids":["b"]}`:                                      "exclude each other",
		`{"agent_ids":["a"],"run_ids":["b"]}`:                                     "exclude each other",
		`{"agent_ids":[""]}`:                                                      "an empty agent_id",
		`{"agent_id":"a","prompt":"p"}`:                                           "names one that there is",
		`{"list_agents":true,"prompt":"p"}`:                                       "goes alone",
		`{"list_agents":true,"agent_id":"a"}`:                                     "goes alone",
		`{"list_agents":true,"cancel":true}`:                                      "goes alone",
		`{"list_agents":true,"reassign":true}`:                                    "goes alone",
		`{"list_agents":true,"wait":true}`:                                        "goes alone",
		`{"cancel":true}`:                                                         "which agent",
		`{"reassign":true,"prompt":"p"}`:                                          "which agent",
		`{"cancel":true,"agent_id":"a","prompt":"p"}`:                             "no new work",
		`{"cancel":true,"agent_id":"a","reassign":true}`:                          "no new work",
		`{"reassign":true,"agent_ids":["a","b"],"prompt":"p"}`:                    "one agent_id and a prompt",
		`{"reassign":true,"agent_ids":[],"prompt":"p"}`:                           "one agent_id and a prompt",
		`{"reassign":true,"agent_id":"a"}`:                                        "one agent_id and a prompt",
		`{"reassign":true,"agent_id":"a","agents":[{"prompt":"q"}]}`:              "one agent_id and a prompt",
		`{"reassign":true,"agent_id":"a","prompt":"p","agents":[{"prompt":"q"}]}`: "one agent_id and a prompt",
	} {
		r, err := parse(s, args)
		var e *tool.Error
		if tool.KindOf(err) != tool.Invalid || !errors.As(err, &e) || e.Hint == "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s is %+v, %v; want %q, with a hint", args, r, err, says)
		}
	}
}

// FuzzParse reads any arguments that meet the schema: they mean one thing, within the
// bounds, or are refused with what to do.
func FuzzParse(f *testing.F) {
	for _, args := range []string{
		`{"prompt":"p","specialist":"s","wait":true,"max_turns":7,"timeout":2.5}`,
		`{"agents":[{"prompt":"p"},{"task":"q","agent":"t","max_turns":3,"timeout":9}],"specialist":"s"}`,
		`{"agent_ids":["b","a","b"],"wait":"true"}`, `{"run_ids":[],"cancel":true}`, `{"agent_ids":[],"run_ids":[""]}`,
		`{"agent_id":"a","reassign":true,"prompt":"p"}`, `{"list_agents":true}`, `{}`, `null`, `"{\"prompt\":\"p\"}"`,
		`{"prompt":"p","timeout":1e999}`, `{"prompt":"p","timeout":7200.0000001,"max_turns":10001}`,
		`{"prompt":"p","timeout":"60","max_turns":"12"}`, `{"prompt":null,"agents":null,"agent_id":null,"list_agents":true}`,
		`{"prompt":"a","prompt":"b"}`, `{"agents":[{"prompt":" ","task":"t"}]}`, `{"agent_ids":"a"}`,
	} {
		f.Add(args)
	}
	s := inputSchema(f)
	f.Fuzz(func(t *testing.T, args string) {
		r, err := parse(s, args)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Fatalf("%s: %v", args, err)
			}
			return
		}
		ids := len(r.IDs)
		holds := map[module.AgentMode]bool{
			module.AgentSpawn:    len(r.Work) > 0 && ids == 0 && !r.All,
			module.AgentReassign: len(r.Work) == 1 && ids == 1 && !r.All,
			module.AgentStatus:   len(r.Work) == 0 && r.All == (ids == 0),
			module.AgentCancel:   len(r.Work) == 0 && r.All == (ids == 0),
			module.AgentList:     len(r.Work) == 0 && ids == 0 && !r.All && !r.Wait,
		}
		if !holds[r.Mode] || r.Timeout < time.Second || r.Timeout > 2*time.Hour {
			t.Fatalf("%s is %+v", args, r)
		}
		for _, id := range r.IDs {
			if id == "" {
				t.Fatalf("%s names an agent without a name", args)
			}
		}
		for _, w := range r.Work {
			if strings.TrimSpace(w.Prompt) == "" || w.MaxTurns < 1 || w.MaxTurns > 10_000 ||
				w.Timeout < time.Second || w.Timeout > 2*time.Hour {
				t.Fatalf("%s has the work %+v", args, w)
			}
		}
	})
}
