//go:build linux

// Load has many conversations talk to one real kernel over HTTP for a while, with calls of several kinds beside them,
// and judges what is left: every call that a client was told of is in the journal with its end, every write is in its
// file, the journal verifies, and the kernel's memory does not grow. It prints how long each kind of request took, and
// exits with 1 if something does not hold.
//
//	load --binary bin/callgate --person bin/person --conversations 200 --minutes 5
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	binary, person string
	conversations  int
	minutes        float64
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "binary", "bin/callgate", "the built program")
	flag.StringVar(&s.person, "person", "bin/person", "the built scripts/person")
	flag.IntVar(&s.conversations, "conversations", 200, "how many at once")
	flag.Float64Var(&s.minutes, "minutes", 5, "for how long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	scratch, err := os.MkdirTemp("", "callgate-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	k, err := begin(ctx, s, scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.end()) }()
	token, err := k.token(ctx, s.person)
	if err != nil {
		return err
	}
	c := &clients{url: k.url, token: token, folder: k.folder, times: map[string]*times{}}
	memory := k.watchMemory(ctx)
	if err := c.talk(ctx, s.conversations, time.Duration(s.minutes*float64(time.Minute))); err != nil {
		return err
	}
	c.print()
	problems := append(c.judge(ctx), memory()...)
	for _, p := range problems {
		fmt.Println("violation:", p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d violations", len(problems))
	}
	return nil
}

// kernel is a real kernel in a folder of its own.
type kernel struct {
	command *exec.Cmd
	binary  string
	folder  string
	state   string
	url     string
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// begin starts a kernel, and returns when it listens.
func begin(ctx context.Context, s settings, scratch string) (*kernel, error) {
	binary, err := filepath.Abs(s.binary)
	if err != nil {
		return nil, err
	}
	k := &kernel{binary: binary, folder: filepath.Join(scratch, "work"), state: filepath.Join(scratch, "state")}
	if err := os.Mkdir(k.folder, 0o700); err != nil {
		return nil, err
	}
	app := `app: {app_id: load}
agents: [{id: main, brain: {provider: offline}}]
tools: {modules: {filesystem: {}, memory: {}}, capabilities: {default_policy: auto}}
`
	for name, text := range map[string]string{"callgate.yaml": app, "hello.txt": "hello there\n"} {
		if err := os.WriteFile(filepath.Join(k.folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	k.command = exec.CommandContext(ctx, binary, "up", "--listen", "127.0.0.1:0")
	k.command.Dir, k.command.Env, k.command.Stderr = k.folder, k.environ(), os.Stderr
	k.command.Cancel = func() error { return k.command.Process.Signal(syscall.SIGTERM) }
	out, err := k.command.StdoutPipe()
	if err == nil {
		err = k.command.Start()
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && k.url == "" {
		k.url = address.FindString(lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if k.url == "" {
		return nil, errors.Join(errors.New("the kernel does not listen"), k.end())
	}
	return k, nil
}

func (k *kernel) environ() []string {
	return append(os.Environ(), "CALLGATE_STATE="+k.state, "NO_COLOR=1")
}

func (k *kernel) end() error {
	if err := k.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = k.command.Wait() // it was told to end
	return nil
}

// token has a person make a token.
func (k *kernel) token(ctx context.Context, person string) (string, error) {
	person, err := filepath.Abs(person)
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, person, k.binary, "token", "create", "--role", "operator")
	c.Dir, c.Env = k.folder, k.environ()
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("no token: %w: %s", err, out)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "cgt_") {
			return word, nil
		}
	}
	return "", fmt.Errorf("no token in %s", out)
}
