package mcptools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/mcptools"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// TestMain lets this program play the MCP servers of its own tests.
func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

const granted = "  capabilities: {default_policy: auto, grant: [{module: mcp}]}\n"

// open opens a session whose app has the servers notes and letters.
func open(t *testing.T, rules string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	notes := kerneltest.NewServer(t, "my-notes", map[string]string{"greet": "Greets.", "touch": "Touches."})
	letters := kerneltest.NewServer(t, "letters", map[string]string{"compose": "Composes."})
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	return k, kerneltest.OpenAccepted(t, k, kerneltest.AppWithServers(t, rules, notes, letters))
}

func call(t *testing.T, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	return s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args), NoWait: true})
}

// wants checks how a call ends, and what its answer says.
func wants(t *testing.T, r *tool.Result, status tool.Status, texts ...string) {
	t.Helper()
	said := r.Summary + "\n" + string(r.Data)
	for _, c := range r.Content {
		said += "\n" + c.Text
	}
	if r.Error != nil {
		said += "\n" + r.Error.Error()
	}
	if r.Status != status {
		t.Errorf("it is %s, want %s: %s", r.Status, status, said)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("the answer does not say %q: %s", text, said)
		}
	}
}

// Without a grant there is no such module, whoever asks for it.
func TestOffUnlessGranted(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{
		"no rules": "", "auto": "  capabilities: {default_policy: auto}\n",
		"another granted": "  capabilities: {grant: [{module: filesystem}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, s := open(t, rules)
			wants(t, call(t, s, "mcp.list_servers", `{}`), tool.Failure, "mcp.list_servers")
			wants(t, call(t, s, "mcp.call_tool", `{"server":"letters","tool":"compose"}`), tool.Failure, "mcp.call_tool")
			if names := kerneltest.ToolNames(t, s); strings.Contains(names, "mcp.") {
				t.Errorf("the tools are %s", names)
			}
		})
	}
}

// A server that nobody accepted is shown, and nothing of these tools starts it.
func TestNothingStartsWithoutAHuman(t *testing.T) {
	t.Parallel()
	k, s := open(t, granted)
	wants(t, call(t, s, "mcp.list_servers", `{}`), tool.Success, `"accepted":false`, "my-notes", "callgate mcp trust")
	for _, name := range []string{"connect", "reconnect", "list_resources", "list_prompts"} {
		r := call(t, s, "mcp."+name, `{"server":"my-notes"}`)
		wants(t, r, tool.Refused, "callgate mcp trust my-notes")
	}
	wants(t, call(t, s, "mcp.list_tools", `{"server":"my-notes"}`), tool.Success, "has 0 tools", "callgate mcp trust my-notes")
	if r := call(t, s, "mcp.call_tool", `{"server":"my-notes","tool":"greet"}`); r.Status == tool.Success {
		t.Error(r.Summary)
	}
	for name, one := range kerneltest.ServersByName(t, k, s) {
		if one.Pid != 0 || one.Accepted {
			t.Errorf("%s runs: %+v", name, one.Status)
		}
	}
}

func TestServersAsTools(t *testing.T) {
	t.Parallel()
	k, s := open(t, granted)
	kerneltest.AcceptServers(t, k, s)
	for _, c := range []struct {
		tool, args string
		status     tool.Status
		says       []string
	}{
		{"list_servers", `{}`, tool.Success, []string{"2 MCP servers", `"name":"my-notes","module":"mcp_my-notes","state":"running"`}},
		{"health", `{"server":"letters"}`, tool.Success, []string{"1 MCP server", `"prompts":true`}},
		{"list_tools", `{"server":"my-notes"}`, tool.Success, []string{"has 3 tools", "mcp_my-notes.greet", "Greets."}},
		{"list_tools", `{"server":"mcp_my-notes"}`, tool.Success, []string{"has 3 tools"}},
		{"call_tool", `{"server":"my-notes","tool":"greet","arguments":{"n":3}}`, tool.Success, []string{`greet of`, `"n":3`}},
		{"call_tool", `{"server_id":"my-notes","tool_name":"mcp_my-notes.greet"}`, tool.Success, []string{"greet of"}},
		{"call_tool", `{"server":"my-notes","tool":"mcp_letters.compose"}`, tool.Failure, []string{"mcp_my-notes.mcp_letters.compose"}},
		{"call_tool", `{"server":"my-notes","tool":"gret"}`, tool.Failure, []string{"mcp_my-notes.greet"}},
		{"call_tool", `{"server":"nosuch","tool":"greet"}`, tool.Failure, []string{"no MCP server", "letters", "callgate mcp add"}},
		{"call_tool", `{"server":"filesystem","tool":"read","arguments":{"path":"callgate.yaml"}}`, tool.Failure, []string{"no MCP server"}},
		{"call_tool", `{"server":"my-notes"}`, tool.Failure, []string{"tool"}},
		{"list_resources", `{"server":"my-notes"}`, tool.Success, []string{"1 resource and 0 templates", "test://note"}},
		{"list_resources", `{"server":"letters"}`, tool.Success, []string{"0 resources"}},
		{"read_resource", `{"server":"my-notes","uri":"test://note"}`, tool.Success, []string{"touched 0 times"}},
		{"read_resource", `{"server":"letters","uri":"test://note"}`, tool.Failure, []string{"mcp_letters.resources"}},
		{"list_prompts", `{"server":"letters"}`, tool.Success, []string{"1 prompt", "letter"}},
		{"get_prompt", `{"server":"letters","name":"letter","arguments":{"to":"Ada"}}`, tool.Success, []string{"write to", "Ada"}},
		{"connect", `{"server":"letters"}`, tool.Success, []string{"letters is connected"}},
		{"connect", `{"server":"letters","command":"sh"}`, tool.Failure, []string{"command"}},
		{"disconnect", `{"server":"letters"}`, tool.Success, []string{"letters is disconnected", `"state":"known"`}},
		{"call_tool", `{"server":"letters","tool":"compose"}`, tool.Success, []string{"compose of"}},
		{"reconnect", `{"server":"letters"}`, tool.Success, []string{"started again", `"state":"running"`}},
	} {
		t.Log(c.tool, c.args)
		wants(t, call(t, s, "mcp."+c.tool, c.args), c.status, c.says...)
	}
}

// What is made is a call of the server's own tool: by its rules, with its question, under its name on record.
func TestCallGoesThroughTheGate(t *testing.T) {
	t.Parallel()
	k, s := open(t, "  capabilities:\n    default_policy: auto\n    grant: [{module: mcp}]\n"+
		"    approve: [{module: mcp_my-notes, actions: [greet, resources]}]\n    deny: [{module: mcp_my-notes, actions: [touch]}]\n")
	kerneltest.AcceptServers(t, k, s)
	for _, c := range []struct{ tool, args, asks, says string }{
		{"call_tool", `{"server":"my-notes","tool":"greet","arguments":{"n":1}}`, `mcp_my-notes.greet {"n":1}`, "greet of"},
		{"read_resource", `{"server":"my-notes","uri":"test://note"}`, `mcp_my-notes.resources {"uri":"test://note"}`, "touched 0"},
	} {
		answered := make(chan *tool.Result)
		go func() { answered <- call(t, s, "mcp."+c.tool, c.args) }()
		var r approval.Request
		kerneltest.Eventually(t, func() bool {
			pending, err := k.Approvals.List(t.Context(), approval.Pending, 10)
			kerneltest.OK(t, err)
			if len(pending) == 1 {
				r = pending[0]
			}
			return len(pending) == 1
		})
		if got := r.Call.Tool.Dotted() + " " + string(r.Call.Args); got != c.asks {
			t.Errorf("a human is asked about %s, want %s", got, c.asks)
		}
		kerneltest.Settle(t, k, r.ID, approval.Answer{Approve: true, By: "ada"})
		wants(t, <-answered, tool.Success, c.says)
		records, err := k.Journal.Read(t.Context(), journal.Query{Call: r.Call.ID})
		kerneltest.OK(t, err)
		if len(records) < 3 || records[0].Parent == "" || !strings.HasPrefix(records[0].Tool, "mcp_my-notes:") {
			t.Errorf("on record is %+v", records)
		}
	}
	wants(t, call(t, s, "mcp.call_tool", `{"server":"my-notes","tool":"touch"}`), tool.Refused, "touch")
}

// What the rules keep from a session is kept from it here too.
func TestHiddenServers(t *testing.T) {
	t.Parallel()
	k, s := open(t, "  capabilities:\n    default_policy: auto\n    grant: [{module: mcp}]\n    hidden_modules: [mcp_letters]\n"+
		"    deny: [{module: mcp_my-notes, actions: [resources]}]\n")
	kerneltest.AcceptServers(t, k, s)
	if r := call(t, s, "mcp.list_servers", `{}`); strings.Contains(string(r.Data), "letters") {
		t.Errorf("a hidden server is listed: %s", r.Data)
	}
	for _, name := range []string{"list_tools", "list_prompts", "connect", "disconnect", "reconnect", "health"} {
		wants(t, call(t, s, "mcp."+name, `{"server":"letters"}`), tool.Failure, "no MCP server")
	}
	wants(t, call(t, s, "mcp.call_tool", `{"server":"letters","tool":"compose"}`), tool.Failure, "no MCP server")
	wants(t, call(t, s, "mcp.list_resources", `{"server":"my-notes"}`), tool.Refused, "do not let you read")
	wants(t, call(t, s, "mcp.read_resource", `{"server":"my-notes","uri":"test://note"}`), tool.Refused)
}

func TestToolsAreFitToPublish(t *testing.T) {
	t.Parallel()
	for _, one := range mcptools.Tools(mcptools.Options{}) {
		if err := one.Validate(); err != nil {
			t.Error(err)
		}
		if len(one.Spec.Aliases) < 4 || one.Spec.Description == "" {
			t.Errorf("%s lacks words", one.ID)
		}
	}
}
