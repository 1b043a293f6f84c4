package shell_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/tool"
)

// background is a call that nobody waits for.
type background struct {
	detached chan struct{}
	attached chan tool.Process
}

func (b *background) Detached() <-chan struct{} { return b.detached }

func (b *background) Attach(p tool.Process) {
	if p != nil {
		b.attached <- p
	}
}

func withStdin(t *testing.T, command, text string) string {
	t.Helper()
	args, err := json.Marshal(map[string]any{"command": command, "stdin_text": text})
	if err != nil {
		t.Fatal(err)
	}
	return string(args)
}

// A command reads the text of its call to its end, and need not read it.
func TestStdinText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 10_000)
	for name, c := range map[string]struct{ command, text, want string }{
		"a line":          {"cat; echo over", "one\ntwo", "one\ntwoover\n"},
		"to a pipe":       {"cat | tr a-z A-Z", "one\n", "ONE\n"},
		"a shell":         {"bash", "echo $((6*7))\n", "42\n"},
		"long":            {"wc -c", long, "100000\n"},
		"not read":        {"true", long, ""},
		"read in part":    {"head -c 3", long, "012"},
		"read by a child": {"(cat)", "one", "one"},
		"closed at once":  {"exec <&-; echo over", long, "over\n"},
		"no text":         {"cat", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run(t, workspace(t), withStdin(t, c.command, c.text), nil)
			if err != nil || r.Status != tool.Success || r.Content[0].Text != c.want {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// One in the background has the text first, and what it is given later behind it, however
// much that is.
func TestStdinTextInTheBackground(t *testing.T) {
	t.Parallel()
	b := &background{detached: make(chan struct{}), attached: make(chan tool.Process, 1)}
	close(b.detached)
	long := strings.Repeat("0123456789", 10_000)
	given := make(chan error, 1)
	go func() {
		p := <-b.attached
		given <- p.Input([]byte("later"), true)
	}()
	r, err := run(t, workspace(t), withStdin(t, "cat | tail -c 8", long), func(g *tool.Grant) { g.Background = b })
	if err != nil || r.Status != tool.Success || r.Content[0].Text != "789later" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := <-given; err != nil {
		t.Error(err)
	}
	ends := &background{detached: b.detached, attached: make(chan tool.Process, 1)}
	r, err = run(t, workspace(t), withStdin(t, "true", long), func(g *tool.Grant) { g.Background = ends })
	if err != nil || r.Status != tool.Success {
		t.Errorf("one that does not read it: %+v, %v", r, err)
	}
}
