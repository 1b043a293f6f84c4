package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Any client has its conversation work in a mode that has less; back to more only a human
// lets it.
func TestClientSetsTheAppMode(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), agentFolder(t, "default_policy: auto", kerneltest.Answer{Text: "hello"})
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	ok(t, err)
	modes := "runtime: {modes: {auto: {}, look: {description: only looks, tool_grants: [filesystem.read]}}, "
	kerneltest.Write(t, file, strings.Replace(string(text), "runtime: {", modes, 1))
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	talk := open(t, dial(state, ""), folder, "", false)
	if talk.AppModes == nil || talk.AppModes.Current != "auto" || len(talk.AppModes.All) != 2 {
		t.Fatalf("%+v", talk.AppModes)
	}
	now, err := talk.SetAppMode(t.Context(), protocol.SetAppMode{Mode: "look"})
	ok(t, err)
	if now.AppModes.Current != "look" || now.Tools >= talk.Tools {
		t.Errorf("%+v, with %d tools of %d", now.AppModes, now.Tools, talk.Tools)
	}
	if _, err := talk.SetAppMode(t.Context(), protocol.SetAppMode{Mode: "auto"}); tool.KindOf(err) != tool.Denied {
		t.Errorf("without a human it was given more: %v", err)
	}
	if _, err := talk.SetAppMode(t.Context(), protocol.SetAppMode{Mode: "plan"}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
}
