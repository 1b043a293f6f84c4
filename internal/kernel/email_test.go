package kernel_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/channel/channeltest"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// A module that can do nothing without settings is there when an app file turns it on, and
// what it sends waits for a human, under Choir's name too.
func TestModuleThatNeedsSettings(t *testing.T) {
	t.Parallel()
	server := (&channeltest.SMTP{}).Start(t)
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	if names := kerneltest.ToolNames(t, kerneltest.OpenSession(t, k, t.TempDir())); strings.Contains(names, "email.") {
		t.Errorf("without an app file there is %s", names)
	}
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "callgate.yaml"), fmt.Sprintf("tools:\n  modules:\n    email:\n"+
		"      config: {address: ann@example.com, smtp: \"127.0.0.1:%d\", smtp_tls: none}\n"+
		"      constraints: {private_hosts: [127.0.0.1]}\n", server.Port()))
	s := kerneltest.OpenAccepted(t, k, workspace)
	if names := kerneltest.ToolNames(t, s); !strings.Contains(names, "email.send=approve") ||
		!strings.Contains(names, "email.check=allow") {
		t.Errorf("with an app file there is %s", names)
	}
	r := kerneltest.Call(t, s, "choir.email.send",
		`{"to":["bob@example.com"],"subject":"Hi","body":"one","deliver":"send"}`)
	if r.Status != tool.Waiting || len(server.Mails()) > 0 {
		t.Fatalf("%+v", r)
	}
	kerneltest.Settle(t, k, r.Approval, approval.Answer{Approve: true})
	kerneltest.Eventually(t, func() bool { return len(server.Mails()) == 1 })
	if got := server.Mails()[0]; got.To[0] != "bob@example.com" || !strings.Contains(got.Data, "Subject: Hi\r\n") {
		t.Errorf("%+v", got)
	}
}
