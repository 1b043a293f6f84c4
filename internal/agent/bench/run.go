package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/launch"
	"callgate/internal/lazyregexp"
)

// heard is what a run said of itself, event by event.
type heard struct {
	answer  string
	told    string // notices, and how the turn ended
	calls   []made
	reason  string
	usage   usage
	problem string // standard error, or why it could not run at all
}

// made is a call and how it ended.
type made struct {
	id, name, args, status, kind, text string
}

// reached reports whether a call was one that its tool takes: it succeeded, or only the
// rules were against it.
func (m made) reached() bool {
	return m.status == "success" || refusal.MatchString(m.text)
}

var refusal = lazyregexp.New(`(?i)^(?:denied|refused|forbidden|unauthorized|waiting)\b|\bconsent\b|\baccepted\b`)

type usage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

// event is what of run --json the suite reads: what every version of it writes.
type event struct {
	Notice string `json:"notice"`
	Event  struct {
		Type    string `json:"type"`
		Message struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"message"`
		Call struct {
			Model string          `json:"model"`
			Name  string          `json:"name"`
			Args  json.RawMessage `json:"args"`
		} `json:"call"`
		Result struct {
			Status  string `json:"status"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	} `json:"event"`
	End *struct {
		Reason string `json:"reason"`
		Error  string `json:"error"`
		Info   struct {
			Usage usage `json:"usage"`
		} `json:"info"`
	} `json:"end"`
}

// read takes the events of a run.
func (h *heard) read(out []byte) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Notice != "" {
			h.told += e.Notice + "\n"
		}
		if e.End != nil {
			h.reason, h.usage = e.End.Reason, e.End.Info.Usage
			h.told += e.End.Reason + " " + e.End.Error + "\n"
		}
		h.take(e)
	}
}

func (h *heard) take(e event) {
	switch e.Event.Type {
	case "assistant":
		for _, p := range e.Event.Message.Parts {
			h.answer += p.Text
		}
	case "note":
		for _, p := range e.Event.Message.Parts {
			h.told += p.Text + "\n"
		}
	case "tool_call":
		h.answer = ""
		h.calls = append(h.calls, made{id: e.Event.Call.Model, name: e.Event.Call.Name, args: string(e.Event.Call.Args)})
	case "tool_ended":
		var text strings.Builder
		for _, c := range e.Event.Result.Content {
			text.WriteString(c.Text)
		}
		for i := range h.calls {
			if c := &h.calls[i]; c.id == e.Event.Call.Model && c.status == "" {
				c.status, c.text = e.Event.Result.Status, text.String()
				c.kind, _, _ = strings.Cut(c.text, ":")
				break
			}
		}
	}
}

// place is where one task is done: everything that the program may read or write is
// below it.
type place struct{ dir string }

func (p place) workspace() string { return filepath.Join(p.dir, "work") }
func (p place) appFile() string   { return filepath.Join(p.dir, "app", "callgate.yaml") }
func (p place) ownFile() string {
	return filepath.Join(p.dir, "config", "callgate", "callgate.yaml")
}

// env is the environment of the program: nothing of the user's but the path, and what
// a real model needs.
func (p place) env(more ...string) []string {
	env := []string{"HOME=" + filepath.Join(p.dir, "home"), "XDG_CONFIG_HOME=" + filepath.Join(p.dir, "config"),
		"CALLGATE_STATE=" + filepath.Join(p.dir, "state"), "TMPDIR=" + os.TempDir(), "NO_COLOR=1", "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT", "GOCOVERDIR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}

// command is the program with arguments, in the workspace.
func (p place) command(ctx context.Context, binary string, env []string, args ...string) *exec.Cmd {
	cmd := launch.Foreground(ctx, binary, args...)
	cmd.Dir, cmd.Env = p.workspace(), env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run has the program do a task, and ends the kernel that it may have left.
func (p place) run(ctx context.Context, binary string, env []string, ask string) *heard {
	var out, errs bytes.Buffer
	cmd := p.command(ctx, binary, env, "run", p.appFile(), "--json", "-p", ask)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	h := &heard{}
	h.read(out.Bytes())
	if h.reason == "" {
		h.problem = fmt.Sprintf("it did not run to an end (%v): %s", err, oneLine(errs.String()+out.String(), 500))
	}
	if _, err := os.Stat(filepath.Join(p.dir, "state", "kernel.sock")); err == nil {
		_ = p.command(ctx, binary, env, "down").Run() // there may be none
	}
	_ = os.WriteFile(filepath.Join(p.dir, "events.jsonl"), out.Bytes(), 0o600)
	return h
}
