package conversation_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// twoModels is an app with two agents, whose models are at two providers.
func twoModels(t *testing.T) (one, two *kerneltest.Model, folder string) {
	t.Helper()
	one, two, folder = kerneltest.NewModel(t), kerneltest.NewModel(t), t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents:\n- {id: main, brain: "+one.Brain("openai", "gpt-4o")+"}\n"+
		"- {id: other, brain: "+two.Brain("anthropic", "claude-sonnet-4-5")+"}\n"+
		"runtime: {entry_agent: main, tool_injection: direct}\n"+
		"tools: {modules: {filesystem: {}}, capabilities: {default_policy: auto}}\n")
	return one, two, folder
}

// Another model answers from the next turn on, with everything that was said before, also
// when the conversation is opened again.
func TestSetModel(t *testing.T) {
	t.Parallel()
	one, two, folder := twoModels(t)
	one.Play(kerneltest.Answer{Text: "I am one"}, kerneltest.Answer{Text: "one again"})
	two.Play(kerneltest.Answer{Text: "I am two"}, kerneltest.Answer{Text: "still two"})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "who are you?")
	ok(t, k.Conversations.SetModel(t.Context(), talk, "anthropic/claude-sonnet-4-5"))
	if m := talk.Model(); m.Provider != "anthropic" || m.Model != "claude-sonnet-4-5" || !m.NativeTools {
		t.Errorf("%+v", m)
	}
	kerneltest.Send(t, talk, "and you?")
	if last := two.Last(); len(one.Asked()) != 1 || !strings.Contains(last, "I am one") || !strings.Contains(last, "and you?") {
		t.Errorf("the other model was asked %s", last)
	}
	var recorded []string
	for _, e := range kerneltest.History(t, k, talk.ID()) {
		if e.Type == history.Model {
			recorded = append(recorded, e.Model)
		}
	}
	if len(recorded) != 1 || recorded[0] != "anthropic/claude-sonnet-4-5" {
		t.Errorf("the history says %q", recorded)
	}
	again := kerneltest.Resume(t, k, talk.ID())
	kerneltest.Send(t, again, "still there?")
	if len(two.Asked()) != 2 || again.Model().Provider != "anthropic" || len(again.Warnings()) != 0 {
		t.Errorf("after it was opened again %+v answers, %q", again.Model(), again.Warnings())
	}
	ok(t, k.Conversations.SetModel(t.Context(), again, "gpt-4o"))
	kerneltest.Send(t, again, "and back")
	if len(one.Asked()) != 2 {
		t.Errorf("the first model was asked %d times", len(one.Asked()))
	}
}

// A name alone means a model at the provider that is used now.
func TestSetModelByNameAlone(t *testing.T) {
	t.Parallel()
	one, _, folder := twoModels(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	ok(t, k.Conversations.SetModel(t.Context(), talk, "gpt-4.1-mini"))
	kerneltest.Send(t, talk, "hello")
	if last := one.Last(); !strings.Contains(last, `"model":"gpt-4.1-mini"`) {
		t.Errorf("the provider was asked %s", last)
	}
}

// A model whose provider takes no tools is told of them in words: they are shown anew.
func TestSetModelWithoutTools(t *testing.T) {
	t.Parallel()
	_, _, folder := twoModels(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	before := talk.Presentation().System.Text()
	ok(t, k.Conversations.SetModel(t.Context(), talk, "llamacpp/some-model"))
	if talk.Model().NativeTools || talk.Presentation().System.Text() == before {
		t.Errorf("%+v is told\n%s", talk.Model(), talk.Presentation().System.Text())
	}
	ok(t, k.Conversations.SetModel(t.Context(), talk, "openai/gpt-4o"))
	if talk.Presentation().System.Text() != before {
		t.Error("back at the first model, it is told something else")
	}
}

// A model that cannot be used changes nothing.
func TestSetModelRefuses(t *testing.T) {
	t.Parallel()
	one, _, folder := twoModels(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	for name, want := range map[string]string{
		"":                 "no model",
		"anthropic/":       "no model",
		"antropic/claude":  "anthropic",
		"perplexity/sonar": "PERPLEXITY_API_KEY",
	} {
		err := k.Conversations.SetModel(t.Context(), talk, name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	reached := one.StopAt(1)
	ended := make(chan history.End, 1)
	go func() { ended <- kerneltest.Send(t, talk, "hello") }()
	<-reached
	if err := k.Conversations.SetModel(t.Context(), talk, "gpt-4.1"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("during a turn: %v", err)
	}
	talk.Cancel()
	<-ended
	if m := talk.Model(); m.Model != "gpt-4o" {
		t.Errorf("%+v", m)
	}
	for _, e := range kerneltest.History(t, k, talk.ID()) {
		if e.Type == history.Model {
			t.Errorf("the history says %+v", e)
		}
	}
}

// A model that was chosen and cannot be used any more is not asked, and the user is told.
func TestChosenModelIsGone(t *testing.T) {
	t.Parallel()
	one, _, folder := twoModels(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	one.Play(kerneltest.Answer{Text: "hello"})
	kerneltest.Send(t, talk, "hello")
	log, err := history.Open(t.Context(), k.Conversations.Store, talk.ID())
	ok(t, err)
	talk.Close()
	ok(t, log.Append(t.Context(), history.Event{Type: history.Model, Model: "perplexity/sonar"}))
	again := kerneltest.Resume(t, k, talk.ID())
	if w := strings.Join(again.Warnings(), "\n"); again.Model().Model != "gpt-4o" || !strings.Contains(w, "perplexity/sonar") {
		t.Errorf("%+v answers, and the warnings are %q", again.Model(), w)
	}
}

// The list has the models of the app, of all agents, and says which one answers.
func TestModelChoices(t *testing.T) {
	t.Parallel()
	_, _, folder := twoModels(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	choices := map[string]conversation.ModelChoice{}
	for _, c := range k.Conversations.ModelChoices(talk) {
		if _, twice := choices[c.Name()]; twice {
			t.Errorf("%s is there twice", c.Name())
		}
		choices[c.Name()] = c
	}
	first, second := choices["openai/gpt-4o"], choices["anthropic/claude-sonnet-4-5"]
	if !first.InApp || !first.Current || first.Err != nil || first.Window == 0 || !second.InApp || second.Current {
		t.Errorf("%+v\n%+v", first, second)
	}
	others := 0
	for name, c := range choices {
		if strings.HasPrefix(name, "openai/") && !c.InApp && c.Err == nil {
			others++
		}
	}
	if others == 0 {
		t.Errorf("no other model of the same provider is offered: %v", choices)
	}
	ok(t, k.Conversations.SetModel(t.Context(), talk, "claude-sonnet-4-5"))
	for _, c := range k.Conversations.ModelChoices(talk) {
		if c.Current != (c.Name() == "anthropic/claude-sonnet-4-5") {
			t.Errorf("%+v", c)
		}
	}
	if _, err := talk.Send(t.Context(), llm.TextMessage(llm.User, "hi"), conversation.Watch{}); err != nil {
		t.Error(err)
	}
}
