package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/question"
)

// What an agent asks that works for another is told to whoever is at that one's
// conversation, with who asks, and answered there.
func TestQuestionsOfChildrenReachTheUser(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), agentFolder(t, "default_policy: auto",
		kerneltest.Answer{Calls: []string{`agent_spawn__agent {"prompt":"find the colour","wait":true}`}},
		kerneltest.Answer{Calls: []string{`ask_user {"question":"Which colour?"}`}},
		kerneltest.Answer{Text: "it is blue"},
		kerneltest.Answer{Text: "done"},
	)
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	ok(t, err)
	kerneltest.Write(t, file, strings.Replace(string(text), "filesystem: {}", "filesystem: {}, agent_spawn: {}", 1))
	d := serveAccepted(t, state, folder)
	defer func() { ok(t, d.Stop()) }()
	human := kerneltest.Human(t, d.Kernel)
	talk := open(t, dial(state, ""), folder, "", false)
	var states []string
	for e, err := range talk.Send(t.Context(), "go") {
		ok(t, err)
		q := e.Question
		if q == nil {
			continue
		}
		states = append(states, string(q.State))
		if q.State != protocol.QuestionPending {
			continue
		}
		if q.Question.Text != "Which colour?" || !strings.HasPrefix(q.Asker.Path, "main > ") {
			t.Errorf("%q asks %q", q.Asker.Path, q.Question.Text)
		}
		_, err := d.Kernel.Questions.Answer(t.Context(), human, q.ID, question.Reply{Approve: true, Text: "blue"})
		ok(t, err)
	}
	if got := strings.Join(states, " "); got != "pending answered" {
		t.Errorf("of the question it is told: %s", got)
	}
}
