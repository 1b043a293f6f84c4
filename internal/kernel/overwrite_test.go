package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// TestAConversationReadsBeforeItOverwrites: an agent does not replace a file that it has
// not read, nor one that the user changed meanwhile; a session without an agent does.
func TestAConversationReadsBeforeItOverwrites(t *testing.T) {
	t.Parallel()
	write := `filesystem__write {"path":"a.txt","content":"by the agent\n"}`
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{write}}, kerneltest.Answer{Text: "refused"},
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}}, kerneltest.Answer{Text: "read"},
		kerneltest.Answer{Calls: []string{write}}, kerneltest.Answer{Text: "refused again"},
		kerneltest.Answer{Calls: []string{`filesystem__read {"path":"a.txt"}`}},
		kerneltest.Answer{Calls: []string{write}}, kerneltest.Answer{Text: "done"})
	workspace := t.TempDir()
	file := filepath.Join(workspace, "a.txt")
	kerneltest.Write(t, file, "by the user\n")
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"),
		"agents: [{id: main, brain: "+model.Brain("openai", "gpt-4.1-mini")+"}]\n"+freeHand)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	c := kerneltest.OpenConversation(t, k, workspace)
	for _, step := range []struct{ say, told, holds string }{
		{"write", "was not read in this conversation", "by the user\n"},
		{"read", "by the user", "by the user\n"},
		{"write", "was changed after it was read", "by the user, again\n"},
		{"read and write", "+by the agent", "by the agent\n"},
	} {
		if step.told == "was changed after it was read" {
			kerneltest.Write(t, file, step.holds)
		}
		kerneltest.Send(t, c, step.say)
		if last := model.Last(); !strings.Contains(last, step.told) {
			t.Errorf("%s: the model is not told %q: …%s", step.say, step.told, last[max(0, len(last)-600):])
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != step.holds {
			t.Fatalf("%s: the file holds %q, %v", step.say, got, err)
		}
	}
	s := kerneltest.OpenAccepted(t, k, workspace)
	if r := answerOf(t, s, `filesystem.write {"path":"a.txt","content":"by a script\n"}`); r[0].Status != tool.Success {
		t.Errorf("a session without an agent: %s", r[0].Summary)
	}
}
