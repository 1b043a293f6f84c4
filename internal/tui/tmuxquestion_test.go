package tui_test

import (
	"slices"
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

// sceneForm is a form with every type of field.
var sceneForm = []any{
	field("text", "Name", "required", true, "placeholder", "of the service"),
	field("textarea", "Notes", "description", "for those who come after"),
	field("number", "Factor", "default", 1.5), field("integer", "Port", "min", 1, "max", 65535, "required", true),
	field("boolean", "TLS", "default", true), field("select", "Database", "options", []string{"postgres", "sqlite"}),
	field("multiselect", "Regions", "options", []string{"eu-north", "eu-west", "us-east"}),
	field("date", "Starts"), field("email", "Contact"), field("url", "Page"), field("password", "Passphrase"),
	field("range", "Load", "max", 50, "step", 5), field("rating", "How sure", "default", 3),
}

func field(kind, label string, more ...any) map[string]any {
	f := map[string]any{"type": kind, "label": label}
	for i := 0; i < len(more); i += 2 {
		f[more[i].(string)] = more[i+1]
	}
	return f
}

// A form with every type of field is filled in, on a screen that has not room for all of it.
func TestSceneForm(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, []answer{{"I need to know a few things first.", []modelCall{call("context_builder__ask_user",
			"question", "How is the shop to be served?", "form", sceneForm)}}, {"Done.", nil}})
		p := chat(at)
		p.enter("serve the shop")
		asked := p.want("The agent asks", "How is the shop to be served?", "Name *")
		p.typeText("shop")
		p.keys("Down", "Down", "Down")
		p.typeText("99999")
		p.keys("Down", "Down", "Right", "Down", "Space")
		p.want("Database: ‹ postgres ›", "› [x] eu-north")
		p.keys(slices.Repeat([]string{"Down"}, 8)...)
		p.want("› How sure: 3")
		p.keys("C-s")
		wrong := p.want("port: must be from 1 to 65535")
		keep("form", at, asked, wrong)
		p.keys(slices.Repeat([]string{"Up"}, 11)...)
		p.want("› Port *: 99999")
		p.keys("BSpace", "C-s")
		p.want("Done.", "the user answered: - Name: shop")
	})
}
