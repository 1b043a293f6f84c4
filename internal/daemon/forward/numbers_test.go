package forward_test

import (
	"context"
	"net/http"
	"testing"

	"callgate/internal/client"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/observe/metric"
	"callgate/internal/protocol"
	"callgate/tool"
)

// sample is the value of a family, or how many its histogram counted, under the values of labels.
func sample(t *testing.T, families []metric.Family, name string, values ...string) float64 {
	t.Helper()
	for _, f := range families {
		for _, s := range f.Samples {
			fits := f.Name == name
			for i, v := range values {
				fits = fits && i < len(s.Labels) && s.Labels[i].Value == v
			}
			if fits && s.Spread != nil {
				return float64(s.Spread.Count)
			} else if fits {
				return s.Value
			}
		}
	}
	t.Errorf("there is no %s of %q", name, values)
	return 0
}

// A node tells how it fares among others, as metrics, and any node tells what waits at each and who waits for whom.
func TestNodesAreObserved(t *testing.T) {
	t.Parallel()
	held, goOn := make(chan struct{}), make(chan struct{})
	pay, err := tool.Func("bank.pay", "A tool of the test.", tool.Runtime{
		Risk: tool.Low, SideEffect: tool.External, Effects: []tool.Effect{{Resource: "account:ada", Mode: tool.X}},
	}, func(ctx context.Context, in struct {
		Wait bool `json:"wait,omitempty"`
	}) (any, error) {
		if in.Wait {
			close(held)
			<-goOn
		}
		return map[string]any{"done": true}, nil
	})
	kerneltest.OK(t, err)
	all := newShared(t, 2, pay)
	a, b := all[0], all[1]
	calling := func(n *node, args string) <-chan *tool.Result {
		done := make(chan *tool.Result, 1)
		s := kerneltest.OpenSession(t, n.kernel, n.workspace)
		go func() { done <- kerneltest.Call(t, s, "bank.pay", args) }()
		return done
	}
	first := calling(a, `{"wait":true}`)
	<-held
	second := calling(b, `{}`)
	ask := a.client()
	kerneltest.Eventually(t, func() bool {
		claims, err := client.NodeLocks(t.Context(), ask)
		kerneltest.OK(t, err)
		return len(claims) == 2 && claims[0].Waits && claims[0].Behind.Call == claims[1].Holder.Call &&
			claims[0].BehindNode != "" && !claims[1].Waits && claims[1].Resource == "account:ada"
	})
	nodes, err := client.Nodes(t.Context(), b.client())
	kerneltest.OK(t, err)
	for _, n := range nodes {
		if n.State != "up" || n.This != (n.ID == b.id) || n.Backlog.Locks != 1 && n.ID == a.id ||
			n.Backlog.LockWaits != 1 && n.ID == b.id {
			t.Errorf("a node is %+v", n)
		}
	}
	if m := b.api.Families(t.Context()); sample(t, m, "callgate_shared_locks_waiting") != 1 ||
		sample(t, m, "callgate_shared_locks_held") != 0 {
		t.Error("b does not tell that it waits")
	}
	close(goOn)
	for _, done := range []<-chan *tool.Result{first, second} {
		if r := <-done; r.Status != tool.Success {
			t.Error(r.Summary)
		}
	}
	if _, err := a.client(at(b.id)).Journal(t.Context(), protocol.JournalQuery{Limit: 1}); err != nil {
		t.Error(err)
	}
	m := a.api.Families(t.Context())
	for name, want := range map[string]float64{
		"callgate_node_info": 1, "callgate_node_epoch": 1, "callgate_node_draining": 0, "callgate_node_suspended": 0,
		"callgate_shared_lock_wait_seconds": 1, "callgate_shared_locks_waiting": 0, "callgate_tasks_due": 0,
	} {
		if got := sample(t, m, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if up, answered := sample(t, m, "callgate_nodes", "up"),
		sample(t, m, "callgate_forwarded_request_duration_seconds", "answered"); up != 2 || answered != 1 {
		t.Errorf("%v nodes are up, and %v requests were answered by another", up, answered)
	}
	for _, some := range []string{"callgate_journal_written_total", "callgate_journal_write_duration_seconds",
		"callgate_database_transaction_duration_seconds", "callgate_node_lease_left_seconds"} {
		if sample(t, m, some) <= 0 {
			t.Errorf("%s is nothing", some)
		}
	}
	if w := kernel.NodeOf(a.kernel).JournalWrites(); w.Failed != 0 || w.Records < w.Took.Count {
		t.Errorf("the journal was written %+v", w)
	}
}

// A node that is drained says that no new clients should come, and what serves it sends them elsewhere.
func TestDrainedNodeIsNotReady(t *testing.T) {
	t.Parallel()
	n := newShared(t, 1)[0]
	server, self := n.web(), kernel.NodeOf(n.kernel)
	for _, drained := range []bool{false, true, false} {
		kerneltest.OK(t, self.SetDraining(t.Context(), n.id, drained))
		want := map[bool]string{false: "ready\n", true: "not ready\n"}[drained]
		status, text := n.with("", http.MethodGet, server.URL()+"/readyz", "")
		if (status == http.StatusOK) == drained || text != want {
			t.Errorf("drained %v: %d %q", drained, status, text)
		}
		if status, _ := n.with("", http.MethodGet, server.URL()+"/healthz", ""); status != http.StatusOK {
			t.Errorf("drained %v: it is taken for dead: %d", drained, status)
		}
	}
}
