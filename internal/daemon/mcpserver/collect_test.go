package mcpserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel"
)

// A client that shows no forms collects the result of a call that a human approved
// elsewhere. A result is collected once: the same call made again is a new one.
func TestCollect(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		s := newFixture(t, kernel.Config{})
		c := s.connect(t, w, "mute", nil)
		list := toolList(t, c)
		i := slices.IndexFunc(list, func(tl *sdk.Tool) bool { return tl.Name == "approvals__collect" })
		if i < 0 || !list[i].Annotations.ReadOnlyHint {
			t.Fatalf("it is not among the tools, or is not one that only looks: %v", i)
		}
		const args = `{"what":"disk"}`
		_, said := call(t, c, "demo.wipe", args)
		id := s.pending(t)[0].ID
		if !strings.Contains(said, fmt.Sprintf(`approvals.collect with {"approval":%q}`, id)) {
			t.Errorf("it says %s", said)
		}
		ask := fmt.Sprintf(`{"approval":%q,"wait_seconds":0}`, id)
		res, said := call(t, c, "approvals__collect", ask)
		if res.IsError || !strings.HasPrefix(said, "waiting for approval: demo.wipe still waits") {
			t.Errorf("before the answer: %s", said)
		}
		s.approve(t, id)
		res, said = call(t, c, "approvals.collect", fmt.Sprintf(`{"approval":%q,"wait_seconds":60}`, id))
		if res.IsError || !strings.Contains(said, args) || s.wiped.Load() != 1 {
			t.Errorf("after the answer: %s", said)
		}
		_, said = call(t, c, "demo.wipe", args)
		if !strings.HasPrefix(said, "waiting for approval") || len(s.pending(t)) != 1 || s.wiped.Load() != 1 {
			t.Errorf("the same call anew: %s", said)
		}
	})
}
