package channels_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

func shown(r *tool.Result) string { return string(r.Status) + " " + r.Summary + " " + string(r.Data) }

// wanted makes calls, and checks what their answers say.
func wanted(t *testing.T, s *session.Session, calls ...[3]string) {
	t.Helper()
	for _, c := range calls {
		if got := shown(kerneltest.Call(t, s, "channels."+c[0], c[1])); !strings.Contains(got, c[2]) {
			t.Errorf("%s %s gives %s, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestChannelsAsTools(t *testing.T) {
	t.Parallel()
	var posted atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		posted.Add(1)
		w.WriteHeader(http.StatusBadRequest) // it is given up at once
	}))
	t.Cleanup(server.Close)
	folder := appWith(t, "log: {type: file, path: out/log.jsonl}", "second: {type: file, path: out/second.jsonl}",
		"hook: {type: webhook, url: '"+server.URL+"/secret-path', private_hosts: [127.0.0.1]}")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	if got := shown(kerneltest.Call(t, s, "channels.list_providers", `{}`)); strings.Contains(got, "secret-path") {
		t.Errorf("where messages go is shown: %s", got)
	}
	wanted(t, s,
		[3]string{"list_providers", `{}`, `3 channels {"channels":[{"name":"log","type":"file","accepted":true,"default":false}`},
		[3]string{"stats", `{}`, "0 delivered, 0 on their way, 0 given up"},
		[3]string{"broadcast", `{"channels":["log","second","nosuch"],"message":"hello"}`, "2 of 3 messages were sent"},
		[3]string{"broadcast", `{"channels":["log"],"message":" "}`, "empty"},
		[3]string{"broadcast", `{"channels":[],"message":"x"}`, "channels"},
		[3]string{"broadcast", `{"channels":["log","log"],"message":"x"}`, "channels"},
		[3]string{"broadcast", `{"channels":["nosuch"],"message":"x"}`, "no message was sent"},
		[3]string{"test_send", `{"channel":"log"}`, "1 of 1 message was sent"},
		[3]string{"test_send", `{"channel":"hook"}`, "no message was sent"},
		[3]string{"provider_status", `{"channel":"log"}`, `"delivered":2`},
		[3]string{"provider_status", `{"provider":"hook"}`, `"given_up":1`},
		[3]string{"provider_status", `{"channel":"lgo"}`, "the channels are [log second hook]"},
		[3]string{"provider_history", `{"dead":true}`, "1 message "},
		[3]string{"provider_history", `{"channel":"log","limit":1}`, `"title":"A test"`},
		[3]string{"provider_history", `{"limit":1000}`, "limit"},
		[3]string{"stats", `{}`, "3 delivered, 0 on their way, 1 given up"},
	)
	data, err := os.ReadFile(filepath.Join(folder, "out", "second.jsonl"))
	ok(t, err)
	if !strings.Contains(string(data), "hello") || posted.Load() != 1 {
		t.Errorf("%s, and %d requests", data, posted.Load())
	}
	other := kerneltest.OpenAccepted(t, k, appWith(t, "log: {type: file, path: log.jsonl}"))
	wanted(t, other, [3]string{"provider_history", `{}`, "0 messages"}, [3]string{"stats", `{}`, "0 delivered"})
}

// A message of a broadcast is a call of send_message: it is denied and asked about like one.
func TestABroadcastIsJudged(t *testing.T) {
	t.Parallel()
	folder := appWith(t, "log: {type: file, path: log.jsonl}", "quiet: {type: file, path: quiet.jsonl}", "loud: {type: file, path: loud.jsonl}")
	rules := "tools:\n  capabilities:\n    default_policy: auto\n" +
		"    approve: [{module: channels, actions: [send_message], match: {channel: loud}}]\n" +
		"    deny: [{module: channels, actions: [send_message], match: {channel: quiet}}]\n"
	file := filepath.Join(folder, "callgate.yaml")
	data, err := os.ReadFile(file)
	ok(t, err)
	write(t, file, strings.Replace(string(data), "tools:\n  capabilities: {default_policy: auto}\n", rules, 1))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, folder)
	answered := make(chan *tool.Result)
	go func() {
		answered <- kerneltest.Call(t, s, "channels.broadcast", `{"channels":["quiet","loud","log"],"message":"hi"}`)
	}()
	var asked approval.Request
	kerneltest.Eventually(t, func() bool {
		pending, err := k.Approvals.List(t.Context(), approval.Pending, 10)
		ok(t, err)
		if len(pending) == 1 {
			asked = pending[0]
		}
		return len(pending) == 1
	})
	if asked.Call.Tool.Dotted() != "channels.send_message" || !strings.Contains(string(asked.Call.Args), `"loud"`) {
		t.Errorf("a human is asked about %s %s", asked.Call.Tool, asked.Call.Args)
	}
	kerneltest.Settle(t, k, asked.ID, approval.Answer{Feedback: "not now"})
	if got := shown(<-answered); !strings.Contains(got, "1 of 3 messages were sent") {
		t.Error(got)
	}
	for name, want := range map[string]bool{"log.jsonl": true, "loud.jsonl": false, "quiet.jsonl": false} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
