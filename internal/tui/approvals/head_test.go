package approvals

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// TestHeadNamesTheModel that a call chose: what it is given is sent there.
func TestHeadNamesTheModel(t *testing.T) {
	it := &item{Approval: protocol.Approval{Risk: tool.Low, Call: tool.Call{
		Tool: tool.ID{Namespace: "desk", Name: "triage"}, ModelChoice: tool.ModelChoice{Model: "openai/gpt-5.4-nano"},
	}}}
	if head := strings.Join(it.head(100, time.Now(), 0), "\n"); !strings.Contains(head, "asks openai/gpt-5.4-nano") {
		t.Errorf("the head is %s", head)
	}
}
