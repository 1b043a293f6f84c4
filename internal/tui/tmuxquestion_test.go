package tui_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// A real chat in a real terminal: the agent asks with a plan and with a form, and gets what
// the user says. What the user typed as a password is on no screen.
func TestQuestionInTheChat(t *testing.T) {
	parallel(t)
	for _, size := range []struct{ width, height int }{{80, 24}, {140, 40}} {
		model := kerneltest.NewModel(t,
			kerneltest.Answer{Calls: []string{`ask_user {"question":"Shall I go on with **this plan**?",` +
				`"content":"## Plan\n1. Create the middleware\n2. Move the sessions\n3. Remove the old code",` +
				`"choices":["go on","only step 1","something else"]}`}},
			kerneltest.Answer{Calls: []string{`ask_user {"question":"Where does it run?","form":[` +
				`{"name":"port","label":"Port","type":"integer","min":1,"max":65535,"required":true},` +
				`{"name":"tls","label":"TLS","type":"toggle","default":true},` +
				`{"name":"db","label":"Database","type":"select","options":["postgres","sqlite"]},` +
				`{"name":"pw","label":"Password","type":"password"}]}`}},
			kerneltest.Answer{Text: "all is set up"})
		p := writerProject(t, model).run(t, size.width, size.height, nil, "chat")
		p.want("say what to do")
		p.enter("set it up")
		p.want("The agent asks", "this plan", "Create the middleware", "( ) only step 1", "or in your own words")
		t.Logf("%dx%d\n%s", size.width, size.height, p.screen())
		p.keys("Down", "Down", "Enter")
		p.want("Where does it run?", "Port *", "TLS: ‹ yes ›", "Database: ‹ choose ›")
		p.typeText("99999")
		p.keys("Down", "Down", "Right", "Down")
		p.typeText("correct-horse")
		p.keys("Enter")
		p.want("port: must be from 1 to 65535", "•••••")
		t.Logf("%dx%d\n%s", size.width, size.height, p.screen())
		if strings.Contains(p.screen(), "correct-horse") {
			t.Error("the password is on the screen")
		}
		p.keys("Up", "Up", "Up", "BSpace", "C-s")
		p.want("all is set up")
		if last := model.Last(); !strings.Contains(last, "only step 1") || !strings.Contains(last, `postgres`) ||
			!strings.Contains(last, "9999") || strings.Contains(last, "correct-horse") {
			t.Errorf("the model is told %s", last)
		}
	}
}
