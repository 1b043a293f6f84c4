package agents_test

import (
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// Each limit of the pool refuses what goes over it, tells why and which key it is, and
// leaves the rest of the tree to end.
func TestLimitsOfATree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pool string
		agents     int // that there are at most
		says       string
	}{
		{"depth", "max_depth: 2", 8, "agents may start agents 2 deep, and this would be 3"},
		{"agents", "max_agents: 5", 5, "5 agents were started for this conversation, and no more may be"},
		{"tokens", "max_tokens: 700", 20, "may take 700 together"},
		{"cost", "max_cost: 0.0011", 20, "may cost $0.0011 together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := &forest{}
			folder := f.folderOf(t, c.pool)
			k := kerneltest.Open(t, kerneltest.StateDir(t), mark(folder))
			conv := kerneltest.OpenConversation(t, k, folder)
			if end := kerneltest.Send(t, conv, "NODE top; go"); end.Reason != history.Done {
				t.Fatalf("the turn ended: %+v", end)
			}
			said := ""
			list := tree(t, k, conv.ID())
			for _, id := range append(idsOf(list), conv.ID()) {
				_, events, err := k.Conversations.History(t.Context(), id, 0)
				if err != nil && tool.KindOf(err) != tool.NotFound { // it never began
					t.Fatal(err)
				}
				for _, e := range events {
					if e.Result != nil {
						said += e.Result.Summary + "\n"
					}
				}
			}
			for _, one := range list {
				if s := one.Status(); s == agents.Running || s == agents.Queued {
					t.Errorf("%s is %s", one.Label(), s)
				}
				said += one.Record().Error + "\n"
			}
			if !strings.Contains(said, c.says) || len(list) > c.agents {
				t.Errorf("%d agents, and %q is not said: %s", len(list), c.says, said)
			}
		})
	}
}

func idsOf(list []*agents.Agent) (ids []string) {
	for _, one := range list {
		ids = append(ids, one.ID)
	}
	return ids
}
