package conversation_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// withModes is an app with two modes, of which the second has less.
func withModes(t *testing.T, modes string) (*kerneltest.Model, string) {
	t.Helper()
	model, folder := kerneltest.NewModel(t), t.TempDir()
	write(t, filepath.Join(folder, "notes.txt"), "what is here\n")
	write(t, filepath.Join(folder, "callgate.yaml"), "agents:\n- {id: main, brain: "+model.Brain("openai", "gpt-4o")+"}\n"+
		"runtime:\n  tool_injection: direct\n  modes:\n"+modes+
		"tools: {modules: {filesystem: {}, memory: {}}, capabilities: {default_policy: auto}}\n")
	return model, folder
}

const lookAndAuto = "    look: {description: only looks, behavior: Change nothing., tool_grants: [filesystem.read], max_turns: 3}\n" +
	"    auto:\n"

// yes and no answer whether a mode that gives more may be chosen.
func yes() error { return nil }

func no() error { return tool.Errorf("test", tool.Denied, "a human decides") }

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// toolsOf are the bytes of the tools in a request.
func toolsOf(t *testing.T, body json.RawMessage) string {
	t.Helper()
	var request struct {
		Tools json.RawMessage `json:"tools"`
	}
	ok(t, json.Unmarshal(body, &request))
	return string(request.Tools)
}

// A mode takes tools away, where they are shown and where they are called, until a human
// chooses another; what a model is sent stays the same to the byte within a mode.
func TestAppModeTakesToolsAway(t *testing.T) {
	t.Parallel()
	model, folder := withModes(t, lookAndAuto)
	writes := `filesystem.write {"path":"new.txt","content":"x"}`
	model.Play(
		kerneltest.Answer{Text: "hello"},
		kerneltest.Answer{Calls: []string{writes}}, kerneltest.Answer{Text: "not done"}, kerneltest.Answer{Text: "again"},
		kerneltest.Answer{Calls: []string{writes}}, kerneltest.Answer{Text: "done"},
	)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, folder)
	if got := c.AppMode().Name; got != "auto" {
		t.Fatalf("it begins in %q", got)
	}
	kerneltest.Send(t, c, "hello")
	if !strings.Contains(model.Last(), "filesystem__write") {
		t.Fatal("the tool is not shown")
	}
	ok(t, k.Conversations.SetAppMode(t.Context(), c, "look", no)) // it has less, so nobody is asked
	kerneltest.Send(t, c, "write it")
	asked := model.Asked()
	for _, body := range asked[1:] {
		if strings.Contains(string(body), `"filesystem__write","description"`) || !strings.Contains(string(body), "Change nothing.") {
			t.Errorf("in the mode the model was sent %s", body)
		}
	}
	if exists(folder, "new.txt") {
		t.Error("a tool ran that the mode takes away")
	}
	kerneltest.Send(t, c, "and now?")
	if tools := toolsOf(t, model.Asked()[1]); tools != toolsOf(t, model.Asked()[3]) || tools == toolsOf(t, model.Asked()[0]) {
		t.Error("the tools are not the same within a mode, or the same in another")
	}
	err := k.Conversations.SetAppMode(t.Context(), c, "auto", no)
	if tool.KindOf(err) != tool.Denied || c.AppMode().Name != "look" {
		t.Errorf("it widened without a human: %v, %s", err, c.AppMode().Name)
	}
	ok(t, k.Conversations.SetAppMode(t.Context(), c, "auto", yes))
	kerneltest.Send(t, c, "write it now")
	if !exists(folder, "new.txt") {
		t.Error("the tool is still gone")
	}
}

// A mode is kept with the conversation, its limits count, and one that the app no longer
// has leaves no tools.
func TestAppModeIsKept(t *testing.T) {
	t.Parallel()
	model, folder := withModes(t, lookAndAuto)
	read := kerneltest.Answer{Calls: []string{`filesystem.read {"path":"notes.txt"}`}}
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	c := kerneltest.OpenConversation(t, k, folder)
	ok(t, k.Conversations.SetAppMode(t.Context(), c, "look", no))
	again := kerneltest.Resume(t, k, c.ID())
	if got := again.AppMode().Name; got != "look" {
		t.Errorf("it was opened again in %q", got)
	}
	if only := again.Session().Limits().Only; len(only) != 1 || len(only["filesystem"]) != 1 {
		t.Errorf("what it asks for later is limited to %v", only)
	}
	model.Play(read, kerneltest.Answer{Calls: []string{`filesystem.read {"path":"callgate.yaml"}`}}, read, read)
	if end := kerneltest.Send(t, again, "read"); end.Reason != history.MaxTurns || len(model.Asked()) != 3 {
		t.Errorf("%+v after %d requests", end, len(model.Asked()))
	}
	other := strings.ReplaceAll(lookAndAuto, "look:", "glance:")
	text, err := os.ReadFile(filepath.Join(folder, "callgate.yaml"))
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), strings.Replace(string(text), lookAndAuto, other, 1))
	gone := kerneltest.Resume(t, k, c.ID())
	if len(gone.Warnings()) != 1 || strings.Contains(kerneltest.ToolNames(t, gone.Session()), "filesystem.read") {
		t.Errorf("warnings %q, tools %s", gone.Warnings(), kerneltest.ToolNames(t, gone.Session()))
	}
	var notFound *tool.Error
	err = k.Conversations.SetAppMode(t.Context(), gone, "glanse", yes)
	if !errors.As(err, &notFound) || notFound.Kind != tool.NotFound || !strings.Contains(notFound.Hint, "did you mean glance?") {
		t.Errorf("%v", err)
	}
}
