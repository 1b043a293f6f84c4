package conversation_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/conversation/history"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// Who begins another conversation with an app that has one goes on with that one: by
// folder, by agent, however many begin at once, and after it was left.
func TestOneConversation(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	file := filepath.Join(folder, "callgate.yaml")
	write(t, file, "runtime: {session_mode: mono}\nagents:\n- {id: one, brain: {provider: offline}}\n"+
		"- {id: two, brain: {provider: offline}}\n")
	open := func(spec conversation.Spec) *conversation.Conversation {
		t.Helper()
		c, err := k.Conversations.Open(t.Context(), spec)
		kerneltest.OK(t, err)
		return c
	}
	first := open(conversation.Spec{Workspace: folder})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if c := open(conversation.Spec{Workspace: folder}); c.ID() != first.ID() {
				t.Errorf("%s begins beside %s", c.ID(), first.ID())
			}
		})
	}
	all.Wait()
	talk := open(conversation.Spec{Workspace: folder})
	if end := kerneltest.Send(t, talk, "hello"); end.Reason != history.Done {
		t.Fatalf("%+v", end)
	}
	talk.Close()
	for name, c := range map[string]struct {
		spec conversation.Spec
		same bool
	}{
		"again":          {conversation.Spec{Workspace: folder}, true},
		"by its agent":   {conversation.Spec{Workspace: folder, Agent: "one"}, true},
		"another agent":  {conversation.Spec{Workspace: folder, Agent: "two"}, false},
		"another folder": {conversation.Spec{Workspace: t.TempDir(), AppFile: file}, false},
	} {
		next := open(c.spec)
		if (next.ID() == first.ID()) != c.same || c.same && next.Info().Turns != 1 {
			t.Errorf("%s: %+v", name, next.Info())
		}
		next.Close()
	}
	// It is begun anew when it was deleted.
	kerneltest.OK(t, k.Conversations.Delete(t.Context(), first.ID()))
	if next := open(conversation.Spec{Workspace: folder}); next.ID() == first.ID() || next.Info().Turns != 0 {
		t.Errorf("%+v", next.Info())
	}
}

// Who would begin a conversation while a turn runs in the only one is told so.
func TestOneConversationThatIsBusy(t *testing.T) {
	t.Parallel()
	reached, after := make(chan struct{}), make(chan struct{})
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "done", Reached: reached, After: after})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "runtime: {session_mode: mono}\nagents: [{id: main, brain: "+
		model.Brain("openai", "gpt-4o")+"}]\n")
	talk := kerneltest.OpenConversation(t, k, folder)
	ended := make(chan history.End)
	go func() { ended <- kerneltest.Send(t, talk, "take your time") }()
	<-reached
	if _, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder}); tool.KindOf(err) != tool.Conflict ||
		!strings.Contains(err.Error(), talk.ID()) {
		t.Errorf("%v", err)
	}
	close(after)
	if end := <-ended; end.Reason != history.Done {
		t.Errorf("%+v", end)
	}
}

// As many conversations are open at once as the app says. One that is left makes room, one
// that is opened again is the same, and the work of agents is none of them.
func TestMostConversations(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder, other := t.TempDir(), t.TempDir()
	const agents = "agents: [{id: main, brain: {provider: offline}}]\n"
	write(t, filepath.Join(folder, "callgate.yaml"), "app: {app_id: desk}\nruntime: {max_sessions_per_user: 2}\n"+agents)
	write(t, filepath.Join(other, "callgate.yaml"), agents)
	spec := conversation.Spec{Workspace: folder}
	first := kerneltest.OpenConversationWith(t, k, spec)
	kerneltest.Send(t, first, "hello there")
	second := kerneltest.OpenConversationWith(t, k, spec)
	_, err := k.Conversations.Open(t.Context(), spec)
	for _, words := range []string{"desk", "2 conversations", first.ID(), "hello there", second.ID(), "--resume", "max_sessions_per_user"} {
		if tool.KindOf(err) != tool.Limited || !strings.Contains(err.Error(), words) {
			t.Fatalf("%q is missing in: %v", words, err)
		}
	}
	kerneltest.OpenConversationWith(t, k, conversation.Spec{Workspace: other}) // another app
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Resume: first.ID()})
	if err != nil {
		t.Fatalf("one that is open is opened again: %v", err)
	}
	_, _, err = k.Conversations.Run(t.Context(), conversation.Headless{
		Spec: spec, ID: "t_of_a_trigger", Message: llm.TextMessage(llm.User, "hello"),
	})
	if err != nil {
		t.Errorf("a trigger's: %v", err)
	}
	spec.Leaves = second.ID() // the client goes from one to the other
	third, err := k.Conversations.Open(t.Context(), spec)
	kerneltest.OK(t, err)
	second.Close()
	spec.Leaves = ""
	if _, err := k.Conversations.Open(t.Context(), spec); tool.KindOf(err) != tool.Limited {
		t.Errorf("%v", err)
	}
	third.Close()
	again.Close()
	// Of many that begin at once, two do.
	var all sync.WaitGroup
	var mu sync.Mutex
	opened := 0
	for range 8 {
		all.Go(func() {
			if _, err := k.Conversations.Open(t.Context(), spec); err == nil {
				mu.Lock()
				opened++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if opened != 2 {
		t.Errorf("%d were opened", opened)
	}
}
