package agents_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel/agents"
	"callgate/internal/kernel/kerneltest"
)

// Agents without a language model do what their prompt says, and nothing that the kernel
// tells them besides: so a team works without a key. Its conversation has the prompt as title.
func TestAgentsWorkOffline(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := team(t, brains(nil), "")
	kerneltest.OpenAccepted(t, k, folder).Close()
	c := kerneltest.OpenConversation(t, k, folder)
	if end := kerneltest.Send(t, c, "agent_spawn.agent prompt=`filesystem.read path=a.txt` specialist=reader wait=true"); end.Reason != "done" {
		t.Fatalf("the turn ended: %+v", end)
	}
	list := tree(t, k, c.ID())
	if len(list) != 1 || list[0].Status() != agents.Completed {
		t.Fatalf("the tree is %+v", list)
	}
	r := list[0].Record()
	if calls := kerneltest.CallsMade(t, k, list[0].ID); len(calls) != 1 || !strings.Contains(r.Result, "the answer is 42") {
		t.Errorf("it made the calls %q, and brought %q", calls, r.Result)
	}
	info, err := k.Conversations.Store.Get(t.Context(), list[0].ID)
	kerneltest.OK(t, err)
	if info.Title != "filesystem.read path=a.txt" {
		t.Errorf("its title is %q", info.Title)
	}
}
