package kernel_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/conversation"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/quota"
	"callgate/internal/token"
	"callgate/internal/user"
	"callgate/tool"
)

// asUser opens a session of a user.
func asUser(t *testing.T, k *kernel.Kernel, name string) (*session.Session, error) {
	t.Helper()
	s, err := k.OpenSession(t.Context(), session.Spec{
		Workspace: t.TempDir(), NoWait: true, Requester: approval.Requester{User: user.InPrincipal(name)},
	})
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// usedBy is what a user has used of a kind, at a kernel.
func usedBy(t *testing.T, k *kernel.Kernel, name, of string, kind quota.Kind) int64 {
	t.Helper()
	all, err := k.Tokens.Users.Limits.Usage(t.Context(), name)
	ok(t, err)
	for _, u := range all {
		if u.Of == of && u.Kind == kind {
			return u.Used
		}
	}
	return 0
}

// Two users with two kernels each make as many calls as each may, and their team as many as it may, to the exact number.
func TestQuotasOverNodes(t *testing.T) {
	t.Parallel()
	url, file := kerneltest.Postgres.URL(t), filepath.Join(t.TempDir(), "own.yaml")
	write(t, file, "users: {limits: {default: {calls_per_day: 20}, users: {ada: {calls_per_day: 35}}, "+
		"teams: {research: {calls_per_day: 50}}}}\n")
	var ran atomic.Int64
	count, err := tool.Func("demo.count", "Counts.", tool.Runtime{SideEffect: tool.Write},
		func(context.Context, struct{}) (any, error) { ran.Add(1); return map[string]any{"done": true}, nil })
	ok(t, err)
	var nodes []*kernel.Kernel
	for range 2 {
		nodes = append(nodes, kerneltest.OpenWith(t, kernel.Config{
			State: t.TempDir(), Storage: url, Tools: []*tool.Tool{count}, UserFile: file,
		}))
	}
	for _, name := range []string{"ada", "bob"} { // at one of them
		ok(t, nodes[0].Tokens.Users.Saw(t.Context(), token.Person{User: name, Teams: []string{"research"}}))
	}
	var made sync.Map
	var all sync.WaitGroup
	for _, name := range []string{"ada", "bob"} {
		counted := new(atomic.Int64)
		made.Store(name, counted)
		for _, k := range nodes {
			s, err := asUser(t, k, name)
			ok(t, err)
			for range 2 {
				all.Go(func() {
					for range 20 {
						r := kerneltest.Call(t, s, "demo.count", `{}`)
						switch {
						case r.Status == tool.Success:
							counted.Add(1)
						case tool.KindOf(r.Err()) != tool.Limited:
							t.Errorf("%s: %s", name, r.Summary)
						}
					}
				})
			}
		}
	}
	all.Wait()
	of := func(name string) int64 { n, _ := made.Load(name); return n.(*atomic.Int64).Load() }
	if a, b := of("ada"), of("bob"); a > 35 || b > 20 || a+b != 50 || ran.Load() != 50 {
		t.Errorf("ada made %d calls, bob %d, and %d handlers ran", a, b, ran.Load())
	}
	for _, k := range nodes {
		if a, team := usedBy(t, k, "ada", "user", quota.CallsPerDay), usedBy(t, k, "bob", "team", quota.CallsPerDay); a !=
			of("ada") || team != 50 {
			t.Errorf("counted are %d of ada and %d of the team", a, team)
		}
	}
	s, err := asUser(t, nodes[1], "bob")
	ok(t, err)
	for _, want := range []string{"calls_per_day: ", "calls are made", "it begins anew at ", " 00:00 UTC, in "} {
		if r := kerneltest.Call(t, s, "demo.count", `{}`); !strings.Contains(fmt.Sprint(r.Summary, r.Err()), want) {
			t.Errorf("%q is not in %s, %v", want, r.Summary, r.Err())
		}
	}
	own := kerneltest.OpenSession(t, nodes[0], t.TempDir())
	if r := kerneltest.Call(t, own, "demo.count", `{}`); r.Status != tool.Success {
		t.Errorf("the kernel's own user is limited: %s", r.Summary)
	}
}

// What a user may do at once, and what stays counted when the kernel starts again.
func TestQuotasOfOneKernel(t *testing.T) { kerneltest.OnEachStorage(t, testQuotasOfOneKernel) }

func testQuotasOfOneKernel(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "own.yaml")
	const limits = "users: {limits: {default: {calls_at_once: 1, sessions_at_once: 2, calls_per_day: 3}}}\n"
	write(t, file, limits)
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	wait, err := tool.Func("demo.wait", "Waits.", tool.Runtime{SideEffect: tool.Write},
		func(context.Context, struct{}) (any, error) {
			entered <- struct{}{}
			<-leave
			return map[string]any{"done": true}, nil
		})
	ok(t, err)
	open := func() *kernel.Kernel {
		return kerneltest.OpenWith(t, kernel.Config{State: state, Tools: []*tool.Tool{wait}, UserFile: file})
	}
	k := open()
	s, err := asUser(t, k, "ada")
	ok(t, err)
	second, err := asUser(t, k, "ada")
	ok(t, err)
	if _, err := asUser(t, k, "ada"); tool.KindOf(err) != tool.Limited || !strings.Contains(err.Error(), "2 of 2 sessions") {
		t.Errorf("a third session of two: %v", err)
	}
	if _, err := asUser(t, k, "bob"); err != nil {
		t.Error(err)
	}
	second.Close()
	if _, err := asUser(t, k, "ada"); err != nil {
		t.Errorf("a session in the place of another: %v", err)
	}
	first := make(chan *tool.Result, 1)
	go func() { first <- kerneltest.Call(t, s, "demo.wait", `{}`) }()
	<-entered
	if r := kerneltest.Call(t, s, "demo.wait", `{}`); tool.KindOf(r.Err()) != tool.Limited || !strings.Contains(r.Summary, "1 of 1 calls run") {
		t.Errorf("two calls at once: %s", r.Summary)
	}
	close(leave)
	if r := <-first; r.Status != tool.Success {
		t.Error(r.Summary)
	}
	if r := kerneltest.Call(t, s, "demo.wait", `{}`); r.Status != tool.Success {
		t.Error(r.Summary)
	}
	<-entered
	ok(t, k.Close())
	k = open()
	if s, err = asUser(t, k, "ada"); err != nil {
		t.Fatal(err)
	}
	if r := kerneltest.Call(t, s, "demo.wait", `{}`); tool.KindOf(r.Err()) != tool.Limited || !strings.Contains(r.Summary, "3 of 3 calls") {
		t.Errorf("a fourth call of three, after a restart: %s", r.Summary)
	}
	write(t, file, "users: {limits: {default: {calls_per_day: many}}}\n")
	if r := kerneltest.Call(t, s, "demo.wait", `{}`); tool.KindOf(r.Err()) != tool.Limited {
		t.Errorf("a mistake in the file opened something: %s", r.Summary)
	}
}

// What models of a user cost is counted and limited, over all of their conversations.
func TestQuotaOfTokens(t *testing.T) { kerneltest.OnEachStorage(t, testQuotaOfTokens) }

func testQuotaOfTokens(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.yaml")
	write(t, file, "users: {limits: {users: {ada: {tokens_per_month: 1000000}, bob: {tokens_per_day: 1}}}}\n")
	k := kerneltest.OpenWith(t, kernel.Config{State: t.TempDir(), UserFile: file})
	model := kerneltest.NewModel(t, kerneltest.Answer{Text: "hi"})
	folder := t.TempDir()
	write(t, filepath.Join(folder, "callgate.yaml"), "agents: [{id: main, brain: "+model.Brain("openai", "gpt-4o")+"}]\n")
	for _, name := range []string{"ada", "bob"} {
		c := kerneltest.OpenConversationWith(t, k, conversation.Spec{
			Workspace: folder, Requester: approval.Requester{User: user.InPrincipal(name)},
		})
		if end := kerneltest.Send(t, c, "hello"); name == "bob" && !strings.Contains(fmt.Sprint(end), "tokens_per_day: 0 of 1 tokens are used") {
			t.Errorf("bob: %+v", end)
		}
		c.Close()
	}
	if n := len(model.Asked()); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
	if a, b := usedBy(t, k, "ada", "user", quota.TokensPerMonth), usedBy(t, k, "bob", "user", quota.TokensPerDay); a == 0 ||
		a > 100_000 || b != 0 {
		t.Errorf("ada has used %d, and bob %d", a, b)
	}
}
