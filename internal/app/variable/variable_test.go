package variable_test

import (
	"strings"
	"testing"

	"callgate/internal/app/node"
	"callgate/internal/app/variable"
)

func environment(name string) (string, bool) {
	value, ok := map[string]string{"HOME": "/home/ada", "EMPTY": ""}[name]
	return value, ok
}

// expand fills in a text of a file that defines the variables a, b, and round.
func expand(t *testing.T, text string, secrets bool) (string, error) {
	t.Helper()
	id, name := "demo", ""
	set := &variable.Set{Env: environment, Workdir: "/work", AppID: &id, AppName: &name}
	const defined = "a: '{{b}}!'\nb: 1\nkey: '{{secret.k}}'\nround: '{{round}}'\n"
	r, root, ok := node.Open("f", []byte(defined), node.Keys{}, set)
	if !ok {
		t.Fatal(node.Err(r.Report))
	}
	set.Define(r, root)
	if secrets {
		r = r.WithSecrets()
	}
	value, ok := set.Expand(r, root, text)
	err := node.Err(r.Report)
	if ok != (err == nil) {
		t.Fatalf("%q: %v and %v", text, ok, err)
	}
	return value, err
}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		text    string
		secrets bool
		want    string
		fails   string
	}{
		{text: "plain } {", want: "plain } {"},
		{text: "{{a}} {{var.b}} {{workdir}} {{app.id}}", want: "1! 1 /work demo"},
		{text: "{{env.HOME}}{{env.EMPTY}}", want: "/home/ada"},
		{text: "{{env.NONE ?? a}}", want: "1!"},
		{text: "{{env.NONE ?? some words}}", want: "some words"},
		{text: "{{{{a}}", want: "{{a}}"},
		{text: "{{a", want: "{{a"},
		{text: "{{key}}", secrets: true, want: "{{secret.k}}"},
		{text: "{{secret.x}}", secrets: true, want: "{{secret.x}}"},
		{text: "{{secret.x}}", fails: "may not hold a secret"},
		{text: "{{key}}", fails: "may not hold a secret"},
		{text: "{{secret.x y}}", secrets: true, fails: "names the secret"},
		{text: "{{env.NONE}}", fails: "it is not set"},
		{text: "{{app.name}}", fails: "there is no variable"},
		{text: "{{wrokdir}}", fails: "did you mean {{workdir}}?"},
		{text: "{{}}", fails: "an empty {{}}"},
		{text: "{{round}}", fails: "lead in a circle: round → round"},
	} {
		got, err := expand(t, c.text, c.secrets)
		switch {
		case c.fails == "" && (err != nil || got != c.want):
			t.Errorf("%q: %q, %v", c.text, got, err)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%q: %q, %v, want %q", c.text, got, err, c.fails)
		}
	}
}

func TestUnset(t *testing.T) {
	set := &variable.Set{Env: environment}
	for text, want := range map[string]bool{
		"{{env.NONE}}": true, " {{ env.NONE }} ": true, "{{env.EMPTY}}": true, "{{env.HOME}}": false,
		"x{{env.NONE}}": false, "{{env.NONE ?? x}}": false, "{{secret.x}}": false, "plain": false,
	} {
		if got := set.Unset(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
