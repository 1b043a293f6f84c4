package prompt_test

import (
	"strings"
	"testing"

	"callgate/internal/conversation/prompt"
)

// The specialists are told to who can start them, and to nobody else.
func TestAgentsAreToldToWhoHasTheTool(t *testing.T) {
	in := prompt.Input{
		Agent: "lead", Native: true, Mode: "direct", Team: prompt.Team{
			Coordination: "Ask the reader first.",
			Specialists:  []prompt.Specialist{{Name: "reader", Role: "worker", Specialty: "finds things"}},
		},
	}
	if text := prompt.Build(in).Text(); strings.Contains(text, "reader") {
		t.Errorf("one without the tool is told: %s", text)
	}
	in.Domain = []prompt.Tool{{Name: "agent_spawn__agent", Module: "agent_spawn", Action: "agent"}}
	text := prompt.Build(in).Text()
	for _, want := range []string{"with agent_spawn__agent", "- reader (worker: finds things)", "Ask the reader first."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told: %s", want, text)
		}
	}
}
