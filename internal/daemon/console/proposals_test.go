package console_test

import (
	"net/url"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/proposal"
)

// A change of a file is shown, and answered hunk by hunk.
func TestHunksOfAChangeAreAnswered(t *testing.T) {
	t.Parallel()
	middle := "\n" + strings.Repeat("x\n", 10)
	s := open(t, folder(t, map[string]string{
		"callgate.yaml": "tools: {modules: {workspace: {}}}\n", "a.txt": "one" + middle + "two\n",
	}))
	s.call("WsEdit", `{"path":"a.txt","edits":[{"old":"one","new":"ONE"},{"old":"two","new":"TWO"}]}`)
	list, err := s.kernel.Proposals.List(t.Context(), proposal.Pending)
	kerneltest.OK(t, err)
	if len(list) != 1 {
		t.Fatalf("%d proposals wait", len(list))
	}
	shown, err := s.kernel.Proposals.Show(t.Context(), list[0].ID)
	kerneltest.OK(t, err)
	path := "/proposals/" + list[0].ID
	s.wants(s.get(path), shown.Hunks[0], shown.Hunks[1], "ONE", "TWO")
	s.post(path, url.Values{"action": {"accept"}, "digest": {shown.Digest}, "hunk": {shown.Hunks[1]}})
	s.has("a.txt", "one"+middle+"TWO\n")
	s.post(path, url.Values{"action": {"refuse"}})
	s.has("a.txt", "one"+middle+"TWO\n")
	s.wants(s.get(path), "accepted: 1 hunk")
}
