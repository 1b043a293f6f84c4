package channels_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/webhook"
	"callgate/internal/kernel"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/task"
	"callgate/tool"
)

// app writes an app file with channels, and rules that let messages run.
func appWith(t *testing.T, lines ...string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	write(t, filepath.Join(folder, "callgate.yaml"), "tools:\n  capabilities: {default_policy: auto}\n  channels:\n    "+
		strings.Join(lines, "\n    ")+"\n")
	return folder
}

func TestSendMessageToAFile(t *testing.T) {
	t.Parallel()
	folder := appWith(t, "log: {type: file, path: out/log.jsonl}")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	stranger := kerneltest.OpenSession(t, k, folder)
	const args = `{"channel":"log","message":"hello","title":"a title"}`
	if r := kerneltest.Call(t, stranger, "channels.send_message", args); r.Status != tool.Waiting { // the floor
		t.Errorf("before a human accepted it: %s %s", r.Status, r.Summary)
	}
	stranger.Close()
	s := kerneltest.OpenAccepted(t, k, folder)
	r := kerneltest.Call(t, s, "send_message", args)
	var sent channels.Sent
	ok(t, json.Unmarshal(r.Data, &sent))
	if r.Status != tool.Success || sent.Status != "delivered" {
		t.Fatalf("%s %s %s", r.Status, r.Summary, r.Data)
	}
	data, err := os.ReadFile(filepath.Join(folder, "out", "log.jsonl"))
	ok(t, err)
	var line struct{ ID, Title, Text, Channel string }
	if err := json.Unmarshal(data, &line); err != nil || line.Text != "hello" || line.Title != "a title" || line.ID != sent.Delivery {
		t.Errorf("%s %v", data, err)
	}
	if r := kerneltest.Call(t, s, "send_message", `{"channel":"lgo","message":"x"}`); tool.KindOf(r.Err()) != tool.NotFound ||
		!strings.Contains(r.Summary, "the channels are log, conversation") {
		t.Errorf("another channel: %s", r.Summary)
	}
	if r := kerneltest.Call(t, s, "send_message", `{"message":"x"}`); tool.KindOf(r.Err()) != tool.Invalid {
		t.Errorf("no channel: %s", r.Summary)
	}
}

func TestAnAppWithoutChannelsHasNoModule(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	empty := t.TempDir()
	plain := t.TempDir()
	write(t, filepath.Join(plain, "callgate.yaml"), "tools:\n  capabilities: {default_policy: auto}\n")
	for _, folder := range []string{empty, plain} {
		s := kerneltest.OpenAccepted(t, k, folder)
		r := kerneltest.Call(t, s, "channels.send_message", `{"message":"x"}`)
		if tool.KindOf(r.Err()) != tool.NotFound || strings.Contains(kerneltest.ToolNames(t, s), "channels.") {
			t.Errorf("%s: %s", folder, r.Summary)
		}
	}
}

func TestRulesHoldForMessages(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"default_policy: approve":                                                         "waiting",
		"{default_policy: auto, deny: [{module: channels}]}":                              "denied",
		"{default_policy: approve, grant: [{module: channels, actions: [send_message]}]}": "success",
		"{default_policy: auto, deny: [{module: channels, match: {channel: secret*}}]}":   "success",
	} {
		folder := t.TempDir()
		if !strings.HasPrefix(rules, "{") {
			rules = "{" + rules + "}"
		}
		write(t, filepath.Join(folder, "callgate.yaml"),
			"tools:\n  capabilities: "+rules+"\n  channels:\n    log: {type: file, path: log.txt, format: text}\n    secrets: {type: stdout}\n")
		k := kerneltest.Open(t, kerneltest.StateDir(t))
		s := kerneltest.OpenAccepted(t, k, folder)
		r := kerneltest.Call(t, s, "channels.send_message", `{"channel":"log","message":"x"}`)
		got := string(r.Status)
		if r.Err() != nil {
			got = string(tool.KindOf(r.Err()))
		}
		if got != want {
			t.Errorf("%s: %s %s", rules, got, r.Summary)
		}
		if strings.Contains(rules, "match") {
			if r := kerneltest.Call(t, s, "channels.send_message", `{"channel":"secrets","message":"x"}`); tool.KindOf(r.Err()) != tool.Denied {
				t.Errorf("a channel that is denied: %s", r.Summary)
			}
			owner := deferred.AskerOf(s, tool.Call{ID: "c"})
			if err := k.Outside.Channels.Deliver(t.Context(), owner, "secrets", "run-1", "x"); tool.KindOf(err) != tool.Denied {
				t.Errorf("a channel that is denied, to the kernel: %v", err)
			}
		}
		// What is denied is denied to the kernel too, and nothing else waits for a human.
		err := k.Outside.Channels.Deliver(t.Context(), deferred.AskerOf(s, tool.Call{ID: "c"}), "log", "run-1", "x")
		if denied := want == "denied"; (tool.KindOf(err) == tool.Denied) != denied || !denied && err != nil {
			t.Errorf("%s: the kernel's own: %v", rules, err)
		}
	}
}

func TestWebhookIsSignedWithTheSecret(t *testing.T) {
	t.Parallel()
	r := receive(t)
	folder := appWith(t, `ops: {type: webhook, url: "`+r.URL+`/{{secret.OPS_PATH}}", credential: OPS_KEY, private_hosts: [127.0.0.1]}`,
		`wrong: {type: webhook, url: "`+r.URL+`"}`, "none: {type: webhook, url: 'https://x.test', credential: NOT_SET_AT_ALL}")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "OPS_KEY", []byte("a-long-secret-key")))
	ok(t, k.Secrets.Set(kerneltest.Human(t, k), "OPS_PATH", []byte("a-long-secret-path")))
	s := kerneltest.OpenAccepted(t, k, folder)
	if res := kerneltest.Call(t, s, "send_message", `{"channel":"ops","message":"look: a-long-secret-key"}`); res.Status != tool.Success {
		t.Fatal(res.Summary)
	}
	got := r.requests()
	if len(got) != 1 || got[0].Get(webhook.HeaderSignature) == "" {
		t.Fatalf("%v", got)
	}
	list, err := k.Outside.Channels.Letters(t.Context(), false, 0)
	ok(t, err)
	if strings.Contains(list[0].Text, "a-long-secret-key") {
		t.Errorf("a secret left: %s", list[0].Text)
	}
	// A private address that the app does not list is not reached, and a secret that has
	// no value may have one later.
	res := kerneltest.Call(t, s, "send_message", `{"channel":"wrong","message":"x"}`)
	if tool.KindOf(res.Err()) != tool.Denied || !strings.Contains(res.Summary, "tools.channels.wrong.private_hosts") {
		t.Errorf("a private address: %s", res.Summary)
	}
	res = kerneltest.Call(t, s, "send_message", `{"channel":"none","message":"x"}`)
	if res.Status != tool.Success || !strings.Contains(res.Summary, "NOT_SET_AT_ALL has no value") || !strings.Contains(res.Summary, "tried again") {
		t.Errorf("no secret: %s", res.Summary)
	}
	infos, err := k.Outside.Channels.List(t.Context(), deferred.AskerOf(s, tool.Call{}))
	if err != nil || len(infos) != 3 || strings.Contains(infos[0].To, "a-long-secret") || !infos[0].Accepted {
		t.Errorf("%+v %v", infos, err)
	}
}

func TestMailAndScreen(t *testing.T) {
	t.Parallel()
	mails := (&channeltest.SMTP{}).Start(t)
	port, _ := json.Marshal(mails.Port())
	folder := appWith(t, "mail: {type: email, host: 127.0.0.1, port: "+string(port)+
		", tls: none, from: bot@x.test, to: [ann@x.test], subject: news, private_hosts: [127.0.0.1]}", "screen: {type: stdout}")
	var screen bytes.Buffer
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), Stdout: &screen})
	s := kerneltest.OpenAccepted(t, k, folder)
	for _, name := range []string{"mail", "screen"} {
		if r := kerneltest.Call(t, s, "channels.send_message", `{"to":"`+name+`","text":"hello you"}`); r.Status != tool.Success {
			t.Errorf("%s: %s", name, r.Summary)
		}
	}
	if got := mails.Mails(); len(got) != 1 || !strings.Contains(got[0].Data, "Subject: news") || !strings.Contains(got[0].Data, "hello you") {
		t.Errorf("%+v", got)
	}
	if !strings.HasSuffix(screen.String(), "] hello you\n") {
		t.Errorf("%q", screen.String())
	}
	dark := kerneltest.Open(t, kerneltest.StateDir(t)) // a kernel without a terminal
	if r := kerneltest.Call(t, kerneltest.OpenAccepted(t, dark, folder), "send_message", `{"channel":"screen","message":"x"}`); tool.KindOf(r.Err()) != tool.Failed {
		t.Errorf("no terminal: %s", r.Summary)
	}
}

// A file channel reaches no file that holds rules, nor one of the kernel's own.
func TestFilesThatNoMessageIsWrittenTo(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"callgate.yaml", ".git/config", "state/human.key", "sub/callgate.yaml"} {
		folder := appWith(t, "log: {type: file, path: "+path+"}")
		state := filepath.Join(folder, "state")
		k := kerneltest.Open(t, state)
		before, _ := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
		r := kerneltest.Call(t, kerneltest.OpenAccepted(t, k, folder), "send_message", `{"channel":"log","message":"x"}`)
		after, _ := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
		if tool.KindOf(r.Err()) != tool.Denied || !bytes.Equal(before, after) {
			t.Errorf("%s: %s", path, r.Summary)
		}
	}
}

// A command that runs beside the kernel puts links in the place of the file, or of its
// folder: nothing is written behind them.
func TestLinksThatComeWhileAFileIsWritten(t *testing.T) {
	t.Parallel()
	folder := appWith(t, "log: {type: file, path: out.jsonl}", "deep: {type: file, path: out/pre-commit}")
	hook := filepath.Join(folder, ".git", "hooks", "pre-commit")
	write(t, filepath.Join(folder, ".git", "config"), "[core]\n")
	write(t, hook, "#!/bin/sh\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		flip := func(name, to string, plain func(string) error) {
			path, next := filepath.Join(folder, name), filepath.Join(folder, name+".next")
			_ = os.Symlink(filepath.FromSlash(to), next)
			_ = os.Rename(next, path)
			_ = plain(next)
			_ = os.Remove(path) // a folder takes no link's place
			_ = os.Rename(next, path)
		}
		for {
			select {
			case <-stop:
				return
			default:
			}
			flip("out.jsonl", ".git/hooks/pre-commit", func(p string) error { return os.WriteFile(p, nil, 0o644) })
			flip("out", ".git/hooks", func(p string) error { return os.Mkdir(p, 0o755) })
			_ = os.RemoveAll(filepath.Join(folder, "out"))
		}
	}()
	for i := range 60 {
		name := []string{"log", "deep"}[i%2]
		kerneltest.Call(t, s, "send_message", `{"channel":"`+name+`","message":"a message"}`) // some are refused
	}
	close(stop)
	<-stopped
	if data, err := os.ReadFile(hook); err != nil || string(data) != "#!/bin/sh\n" {
		t.Errorf("the hook is %q, %v", data, err)
	}
}

// Messages and tools that write one file do not lose each other's lines.
func TestFileIsLocked(t *testing.T) {
	t.Parallel()
	folder := appWith(t, "log: {type: file, path: log.txt, format: text}")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	write(t, filepath.Join(folder, "log.txt"), "begin\n")
	owner := deferred.AskerOf(s, tool.Call{ID: "c"})
	const n = 20
	done := make(chan error, 2*n)
	for i := range n {
		id := string(rune('a' + i))
		go func() { done <- k.Outside.Channels.Deliver(t.Context(), owner, "log", id, "message "+id+".") }()
		go func() {
			r := kerneltest.Call(t, s, "filesystem.edit", `{"path":"log.txt","old":"begin\n","new":"begin\nedit `+id+`.\n"}`)
			done <- r.Err()
		}()
	}
	for range 2 * n {
		ok(t, <-done)
	}
	kerneltest.Eventually(t, func() bool {
		list, err := k.Tasks.Store().List(t.Context(), task.Query{Kinds: []string{channels.Kind}, Active: true})
		return err == nil && len(list) == 0
	})
	data, err := os.ReadFile(filepath.Join(folder, "log.txt"))
	ok(t, err)
	for i := range n {
		id := string(rune('a' + i))
		for _, want := range []string{"message " + id + ".", "edit " + id + "."} {
			if strings.Count(string(data), want) != 1 {
				t.Errorf("%q is there %d times", want, strings.Count(string(data), want))
			}
		}
	}
}

// A delivery outlives its kernel, and a file has it once whatever was killed between.
func TestDeliveryGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	r := receive(t, 503)
	folder := appWith(t, "ops: {type: webhook, url: '"+r.URL+"', private_hosts: [127.0.0.1]}", "log: {type: file, path: log.jsonl}")
	state := kerneltest.StateDir(t)
	k := kerneltest.Open(t, state)
	s := kerneltest.OpenAccepted(t, k, folder)
	if res := kerneltest.Call(t, s, "send_message", `{"channel":"ops","message":"x"}`); !strings.Contains(res.Summary, "on its way") {
		t.Fatal(res.Summary)
	}
	ok(t, k.Close())
	k = kerneltest.Open(t, state)
	dead, err := k.Outside.Channels.Letters(t.Context(), false, 0)
	ok(t, err)
	if len(dead) != 1 || dead[0].Attempts != 1 || dead[0].State.Final() {
		t.Errorf("%+v", dead)
	}
	kerneltest.Eventually(t, func() bool { return len(r.requests()) == 2 })
	got := r.requests()
	if got[0].Get("webhook-id") != got[1].Get("webhook-id") {
		t.Errorf("%v", got)
	}
}

// A model is told of the channels that a human accepted, by the names of its tools.
func TestAModelIsToldOfItsChannels(t *testing.T) {
	t.Parallel()
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "well"})
	folder := appWith(t, "log: {type: file, path: log.jsonl}", "screen: {type: stdout}")
	file := filepath.Join(folder, "callgate.yaml")
	text, err := os.ReadFile(file)
	ok(t, err)
	write(t, file, string(text)+"agents:\n- id: main\n  brain: "+model.Brain("openai", "m")+"\nruntime: {default_channel: log}\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder).Close()
	kerneltest.Send(t, kerneltest.OpenConversation(t, k, folder), "hello")
	if asked := model.Last(); !strings.Contains(asked, `- log (file), the default\n- screen (stdout)`) {
		t.Errorf("%s", asked)
	}
}
