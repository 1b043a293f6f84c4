package daemon_test

import (
	"slices"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
)

// A client lists the models, and has another one answer.
func TestClientSetsTheModel(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), agentFolder(t, "default_policy: auto", kerneltest.Answer{Text: "hello"})
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	talk := open(t, dial(state, ""), folder, "", false)
	now, err := talk.SetModel(t.Context(), "gpt-4.1-mini")
	ok(t, err)
	if now.Model != "gpt-4.1-mini" || now.Provider != "openai" || now.ID != talk.ID || now.Window == 0 {
		t.Errorf("%+v", now)
	}
	list, err := talk.Models(t.Context())
	ok(t, err)
	for name, current := range map[string]bool{"openai/gpt-4o": false, "openai/gpt-4.1-mini": true} {
		at := slices.IndexFunc(list, func(m protocol.ModelChoice) bool { return m.Name == name })
		if at < 0 || list[at].Current != current || list[at].InApp == current || list[at].Problem != "" {
			t.Errorf("%s in %+v", name, list)
		}
	}
	if _, err := talk.SetModel(t.Context(), "nobody/nothing"); err == nil {
		t.Error("a provider that does not exist was taken")
	}
}
