package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/protocol"
	"callgate/tool"
)

// sharing opens a console over one of two nodes on one database, with a tool that waits while it has what both share.
func sharing(t *testing.T, named func(string)) (s *site, other *kernel.Kernel, held <-chan struct{}, goOn chan<- struct{}) {
	url := kerneltest.Postgres.URL(t)
	began, end := make(chan struct{}, 1), make(chan struct{})
	pay, err := tool.Func("bank.pay", "A tool of the test.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.External, Effects: []tool.Effect{{Resource: "account:ada", Mode: tool.X}},
	}, func(context.Context, struct{}) (any, error) {
		began <- struct{}{}
		<-end
		return map[string]any{"done": true}, nil
	})
	kerneltest.OK(t, err)
	config := kernel.Config{
		Storage: url, Node: node.Timing{Every: 50 * time.Millisecond}, Tools: []*tool.Tool{pay}, State: kerneltest.StateDir(t),
	}
	named("lab-1")
	s = openWith(t, folder(t, nil), config)
	named("lab-2")
	config.State = kerneltest.StateDir(t)
	return s, kerneltest.OpenWith(t, config), began, end
}

// The page shows each node, what waits where, and who waits for whom; a human has one drained and go on.
func TestNodesPage(t *testing.T) {
	t.Parallel()
	alone := open(t, folder(t, nil))
	alone.wants(alone.get("/nodes"), "This kernel is alone", `href="/docs/cluster"`)
	alone.get("/docs/cluster")

	s, other, held, goOn := sharing(t, func(string) {})
	pay := func(k *kernel.Kernel) <-chan struct{} {
		session, done := kerneltest.OpenSession(t, k, t.TempDir()), make(chan struct{})
		go func() { defer close(done); kerneltest.Call(t, session, "bank.pay", `{}`) }()
		return done
	}
	first := pay(other)
	<-held
	second := pay(s.kernel)
	kerneltest.Eventually(t, func() bool { return strings.Contains(s.get("/nodes"), "<b>1</b> lock waits") })
	s.wants(s.get("/nodes"), "this one", "account:ada", "has it", "bank.pay", "waits</span> for call")
	id := kernel.NodeOf(other).ID
	s.wants(s.post("/nodes/"+id+"/drain", nil), "draining", "go on")
	kerneltest.Eventually(t, func() bool { return kernel.NodeOf(other).Draining() != nil })
	s.wants(s.post("/nodes/"+id+"/drain", map[string][]string{"undo": {"1"}}), "Drain ")
	kerneltest.Eventually(t, func() bool { return kernel.NodeOf(other).Draining() == nil })
	records, err := s.Journal(t.Context(), protocol.JournalQuery{Newest: true, Limit: 10})
	kerneltest.OK(t, err)
	text, err := json.Marshal(records)
	kerneltest.OK(t, err)
	s.wants(string(text), "ada has the node", "drained")
	r, err := s.server.Client().PostForm(s.server.URL+"/nodes/nosuch/drain", nil)
	s.wants(s.read(r, err, http.StatusNotFound), "there is no node")
	s.person.Role = "operator"
	if page := s.get("/nodes"); strings.Contains(page, "/drain") {
		t.Error("an operator is offered what the kernel refuses")
	}
	s.person.Role = "admin"
	s.wants(s.post("/journal/verify", nil), "The journal is whole", "is whole: ")
	close(goOn)
	<-first
	<-second
}

// The page is live, fits a phone, in the light and the dark, and axe-core finds nothing wrong where it is there.
func TestNodesInABrowser(t *testing.T) {
	s, other, held, goOn := sharing(t, func(name string) { t.Setenv(node.NameVariable, name) }) // so it is not parallel
	session := kerneltest.OpenSession(t, other, t.TempDir())
	b := browse(s)
	b.size(1100, 700, false)
	b.open("/nodes")
	b.sees("No call holds anything")
	done := make(chan struct{})
	go func() { defer close(done); kerneltest.Call(t, session, "bank.pay", `{}`) }()
	<-held
	b.sees("account:ada") // it appears by itself
	b.do(click("form[action^='/nodes/'] button"))
	b.sees("go on")
	b.capture("nodes")
	axe, err := os.ReadFile(os.Getenv("CALLGATE_AXE"))
	for _, dark := range []bool{false, true} {
		b.size(390, 800, dark)
		b.open("/nodes")
		b.sees("draining")
		over, failed := chromedp.Run(b.ctx, chromedp.Evaluate[int]("document.documentElement.scrollWidth - innerWidth"))
		kerneltest.OK(t, failed)
		if over > 0 {
			t.Errorf("it is %d pixels wider than the phone", over)
		}
		if err != nil {
			continue
		}
		_, failed = chromedp.Run(b.ctx, chromedp.Evaluate[chromedp.Void](string(axe)+";0"))
		kerneltest.OK(t, failed)
		found, failed := chromedp.Run(b.ctx, chromedp.Evaluate[string](axeRun, chromedp.EvalAwaitPromise))
		kerneltest.OK(t, failed)
		if found != "" {
			t.Errorf("dark %v: %s", dark, found)
		}
	}
	close(goOn)
	<-done
}
