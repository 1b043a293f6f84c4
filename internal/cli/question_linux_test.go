package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/peer/terminaltest"
)

// askingApp is an app whose model asks its user with args, and then says that it knows.
// It is accepted. The model has what it was told.
func askingApp(t *testing.T, state, args string) (file string, model *scriptedModel) {
	t.Helper()
	var asks modelAnswer
	text := fmt.Sprintf(`{"calls": [{"name": "context_builder__ask_user", "args": %s}]}`, args)
	if err := json.Unmarshal([]byte(text), &asks); err != nil {
		t.Fatal(err)
	}
	model = &scriptedModel{answers: []modelAnswer{asks, {Text: "Now I know."}}}
	provider := httptest.NewServer(model)
	t.Cleanup(provider.Close)
	folder := t.TempDir()
	file = filepath.Join(folder, "callgate.yaml")
	if err := os.WriteFile(file, []byte(fmt.Sprintf(acpApp, provider.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	person(t, state, "-C", folder, "app", "trust", "--yes")
	return file, model
}

// told is what the model was told last.
func (m *scriptedModel) told() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.ReplaceAll(m.bodies[len(m.bodies)-1], `\"`, `"`)
}

// The model of callgate run -p asks, and the person at its terminal answers line by line.
func TestRunAsksAtItsTerminal(t *testing.T) {
	t.Parallel()
	const form = `{"question": "How is it served?", "form": [
		{"name": "port", "type": "int", "min": 1, "max": 65535, "required": true},
		{"name": "tls", "label": "Use TLS?", "type": "bool", "default": true},
		{"name": "kind", "type": "select", "options": ["small", "large"]},
		{"name": "pass", "label": "Passphrase", "type": "password"}]}`
	for name, c := range map[string]struct {
		args string
		env  []string
		talk func(*tty)
		told []string
	}{
		"words": {
			args: `{"question": "Which one?"}`,
			talk: func(p *tty) {
				p.sees("Which one?")
				p.sees("your answer >")
				p.types("\n")
				p.sees("the answer is empty")
				p.sees("your answer >")
				p.types("the second one\n")
			},
			told: []string{`"status":"approved"`, `"user_response":"the second one"`},
		},
		"a no": {
			args: `{"question": "Review this plan?", "content": "# Plan\n\nUse cookies.\n"}`,
			talk: func(p *tty) {
				p.sees("Use cookies.")
				p.sees("/edit changes the content, /no and a reason says no")
				p.sees("(empty: as it is) >")
				p.types("/no use JWT instead\n")
			},
			told: []string{`"status":"denied"`, `"user_feedback":"use JWT instead"`},
		},
		"edited": {
			args: `{"question": "Review this plan?", "content": "# Plan\n\nUse cookies.\n"}`,
			env:  []string{"VISUAL=sed -i s/cookies/JWT/"},
			talk: func(p *tty) {
				p.sees("(empty: as it is) >")
				p.types("/edit\n")
				p.sees("(empty: as it is) >")
				p.types("\n")
			},
			told: []string{`"content_was_edited":true`, `Use JWT.`},
		},
		"choices": {
			args: `{"question": "Which?", "choices": ["a", "b", "c"], "allow_multiple": true, "min_select": 2}`,
			talk: func(p *tty) {
				p.sees(" 3  c")
				p.sees("numbers, with commas between them, or your own words >")
				p.types("1\n")
				p.sees("choose at least 2")
				p.sees(">")
				p.types("1, 3\n")
			},
			told: []string{`"user_response":"selected a, c"`},
		},
		"yes or no": {
			args: `{"question": "Go on?", "response_type": "approval"}`,
			talk: func(p *tty) {
				p.sees("[y]es  [n]o >")
				p.types("perhaps\n")
				p.sees("say yes or no")
				p.sees("[y]es  [n]o >")
				p.types("y\n")
			},
			told: []string{`"status":"approved"`},
		},
		"a form": {
			args: form,
			talk: func(p *tty) {
				p.sees("port  integer · 1 to 65535 · needed")
				p.sees("port >")
				p.types("many\n")
				p.sees("port: ")
				p.sees("port >")
				p.types("8080\n")
				p.sees("Use TLS? [yes] >")
				p.types("\n")
				p.sees("kind >")
				p.types("2\n")
				p.sees("Passphrase (not shown) >")
				p.types("correct-horse\n")
			},
			told: []string{`"port":8080`, `"tls":true`, `"kind":"large"`, "given, and kept as the secret answer."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			file, model := askingApp(t, state, c.args)
			p := onTerminal(t, state, c.env, "run", file, "-p", "find out")
			p.sees("The agent asks:")
			c.talk(p)
			p.sees("Now I know.")
			p.ends(0)
			wantIn(t, model.told(), c.told...)
			if all := p.all.String() + model.told(); strings.Contains(all, "correct-horse") {
				t.Errorf("a password is shown or told:\n%s", all)
			}
		})
	}
}

// A question that the person at the terminal leaves is answered elsewhere, and so is one
// that the dialog still shows.
func TestRunIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"left waiting": true, "while it is asked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := newState(t)
			file, model := askingApp(t, state, `{"question": "Which one?"}`)
			up(t, state)
			p := onTerminal(t, state, nil, "run", file, "-p", "find out")
			p.sees("your answer >")
			if leaves {
				p.types("/quit\n")
				p.sees("left waiting; answer it with: ")
			}
			list := untilSays(t, state, "pending", "questions", "list", "--json")
			no := start(t, state, "questions", "answer", between(t, list, `"id": "`, `"`), "--deny", "neither")
			if no.ends(t) != 0 {
				t.Fatal(no.err.String())
			}
			if !leaves {
				p.sees("answered elsewhere")
			}
			p.sees("Now I know.")
			p.ends(0)
			wantIn(t, model.told(), `"user_feedback":"neither"`)
		})
	}
}

// callgate questions answer without an answer asks the person at its terminal, behind the
// code; and so does callgate run --wait without a terminal, which says how.
func TestAnswerAtAnotherTerminal(t *testing.T) {
	t.Parallel()
	state := newState(t)
	file, model := askingApp(t, state, `{"question": "Which one?", "choices": ["left", "right"], "allow_custom": false}`)
	up(t, state) // else a command that lists them may be the kernel, and end
	asker := start(t, state, "run", file, "--wait", "-p", "find out")
	list := untilSays(t, state, "pending", "questions", "list", "--json")
	answered := terminaltest.Run(t, terminaltest.Program{
		Args: []string{"sh", "-c", "exec callgate questions answer " + between(t, list, `"id": "`, `"`) + " 2>/dev/tty"},
		Dir:  t.TempDir(), Env: []string{"CALLGATE_STATE=" + state, "NO_COLOR=1", "GORACE=" + quickRace, "CALLGATE_TOKEN="},
		Types: []terminaltest.Typing{
			terminaltest.Code(), {Sees: `a number >`, Text: "up\n"}, {Sees: `a number >`, Text: "2\n"},
		},
	})
	if answered.Exit != 0 || !strings.Contains(answered.Screen, "answered: the agent is told so") {
		t.Fatalf("%d: %s\n%s", answered.Exit, answered.Err, answered.Screen)
	}
	if asker.ends(t) != 0 {
		t.Fatal(asker.err.String())
	}
	wantIn(t, asker.err.String(), "the agent asks, and waits for 5m0s at most: Which one?", "questions answer q")
	wantIn(t, model.told(), `"raw_response":"right"`)
}
