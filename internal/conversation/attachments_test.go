package conversation_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/kernel/kerneltest"
	"callgate/llm"
	"callgate/tool"
)

// What a user puts into a message is what the app takes, or nothing is said.
func TestAttachments(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	message := llm.TextMessage(llm.User, "look at this")
	message.Parts = append(message.Parts, llm.Part{Image: &llm.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}})
	for takes, want := range map[string]bool{"": true, `attachments: "*"`: true, "attachments: [image]": true, "attachments: []": false} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "callgate.yaml"), "app: {app_id: a, "+takes+"}\nagents: [{id: main, brain: "+
			model.Brain("anthropic", "claude-sonnet-4-5")+"}]\n")
		talk := kerneltest.OpenConversation(t, k, folder)
		model.Play(kerneltest.Answer{Text: "I see."})
		_, err := talk.Send(t.Context(), message, conversation.Watch{})
		if want && err != nil || !want && (tool.KindOf(err) != tool.Invalid || len(kerneltest.History(t, k, talk.ID())) != 0) {
			t.Errorf("%s: %v", takes, err)
		}
		if want && !strings.Contains(model.Last(), "image/png") {
			t.Errorf("%s: the model is not shown it: %s", takes, model.Last())
		}
	}
}
