package conversation_test

import (
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// The last conversation of a folder goes on: not another folder's, not another app's,
// not one in which nothing was said, and not the work of a core lane.
func TestContinue(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	here, there := t.TempDir(), t.TempDir()
	other := filepath.Join(here, "other.yaml")
	for _, file := range []string{filepath.Join(here, "callgate.yaml"), other, filepath.Join(there, "callgate.yaml")} {
		write(t, file, "app: {app_id: a}\ntools: {modules: {filesystem: {}}}\n")
	}
	begin := func(spec conversation.Spec) string {
		talk := kerneltest.OpenConversationWith(t, k, spec)
		kerneltest.Send(t, talk, "list the files here")
		talk.Close()
		return talk.ID()
	}
	next := func(spec conversation.Spec) (string, error) {
		spec.Continue = true
		talk, err := k.Conversations.Open(t.Context(), spec)
		if err != nil {
			return "", err
		}
		defer talk.Close()
		return talk.ID(), nil
	}
	if _, err := next(conversation.Spec{Workspace: here}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("in a folder without conversations: %v", err)
	}
	begin(conversation.Spec{Workspace: here})
	last := begin(conversation.Spec{Workspace: here})
	otherApp := begin(conversation.Spec{Workspace: here, AppFile: other})
	elsewhere := begin(conversation.Spec{Workspace: there})
	kerneltest.OpenConversation(t, k, here).Close() // nothing is said in it
	link := filepath.Join(t.TempDir(), "link")
	ok(t, os.Symlink(here, link))
	for name, c := range map[string]struct {
		spec conversation.Spec
		want string
	}{
		"here":              {conversation.Spec{Workspace: here}, last},
		"here, by a link":   {conversation.Spec{Workspace: link}, last},
		"another app":       {conversation.Spec{Workspace: here, AppFile: other}, otherApp},
		"another folder":    {conversation.Spec{Workspace: there}, elsewhere},
		"an ID goes before": {conversation.Spec{Workspace: here, Resume: elsewhere}, elsewhere},
	} {
		if got, err := next(c.spec); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := next(conversation.Spec{Workspace: here, Agent: "nobody"}); tool.KindOf(err) != tool.NotFound {
		t.Errorf("with an agent that never spoke: %v", err)
	}
}

// The task of a core lane is the last conversation of its folder, and is not continued.
func TestContinueLeavesCoreLanes(t *testing.T) {
	t.Parallel()
	edge, core, folder := laneApp(t, "one_shot")
	edge.Play(kerneltest.Answer{Calls: []string{`core_job {"task":"think"}`}}, kerneltest.Answer{Text: "on it"},
		kerneltest.Answer{Text: "there it is"})
	core.Play(kerneltest.Answer{Text: "deep answer"})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	talk := kerneltest.OpenConversation(t, k, folder)
	kerneltest.Send(t, talk, "think")
	if len(core.Asked()) != 1 {
		t.Fatal("there was no task")
	}
	talk.Close()
	again, err := k.Conversations.Open(t.Context(), conversation.Spec{Workspace: folder, Continue: true})
	ok(t, err)
	if again.ID() != talk.ID() {
		t.Errorf("%s goes on, want %s", again.ID(), talk.ID())
	}
}
