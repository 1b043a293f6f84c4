package tui_test

import (
	"regexp"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// A chat that is opened again shows the calls of a script below it, as while it ran.
func TestScriptInAChatThatIsOpenedAgain(t *testing.T) {
	parallel(t)
	model := kerneltest.NewModel(t,
		kerneltest.Answer{Calls: []string{`run_script {"program":"names = filesystem.list(path=\".\")\nfor i in range(3):\n` +
			`    attempt(lambda: filesystem.read(path=\"none%d.txt\" % i))\nresult = \"counted\""}`}},
		kerneltest.Answer{Text: "all is counted"})
	at := writerProject(t, model)
	p := at.run(t, 100, 30, nil, "chat")
	p.want("say what to do")
	p.enter("count them")
	screen := p.want("all is counted", "✓ line 1   filesystem.list", "✗ line 3   filesystem.read ×3")
	id := regexp.MustCompile(`· (t[0-9a-z]{6,})`).FindStringSubmatch(screen)[1]
	p.leave()
	p = at.run(t, 100, 30, nil, "chat", "--resume", id)
	screen = p.want("all is counted", "✓ line 1   filesystem.list", "✗ line 3   filesystem.read ×3", "3 failed")
	checkScreen(t, "script", screen, 100)
}
