package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

func egressTool(t *testing.T, id string, r tool.Runtime, input string) *tool.Tool {
	t.Helper()
	parsed, err := tool.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Tool{ID: parsed, Spec: tool.Spec{Input: json.RawMessage(input)}, Runtime: r}
}

// A call that sends data to a destination of its own choice asks by default, whatever its
// risk; what a rule says of it counts before that.
func TestEgress(t *testing.T) {
	t.Parallel()
	to := func(resource string) tool.Runtime {
		return tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Network: true,
			Effects: []tool.Effect{{Resource: resource, Mode: tool.IS}}}
	}
	get := egressTool(t, "http:get@1.0.0", to("host:{url|host}"), `{"properties":{"url":{}}}`)
	tell := egressTool(t, "mcp_mail:get_receipt@1.0.0", to("to:{recipient}"), `{"properties":{"recipient":{}}}`)
	list := egressTool(t, "mcp_mail:list@1.0.0", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"properties":{"folder":{}}}`)
	ask := &policy.Capabilities{}
	grant := func(module, param, pattern string) *policy.Capabilities {
		return &policy.Capabilities{Grant: []policy.Entry{{Module: module, Match: map[string]any{param: pattern}}}}
	}
	for name, c := range map[string]struct {
		rules *policy.Capabilities
		tool  *tool.Tool
		args  string
		want  policy.Verdict
		why   string
	}{
		"a public host":            {nil, get, `{"url":"https://EXAMPLE.com./x"}`, policy.Approve, "a request to https://example.com, and no rule"},
		"this machine":             {nil, get, `{"url":"http://127.1:8080/x"}`, policy.Allow, ""},
		"this machine by name":     {nil, get, `{"url":"http://a.LOCALHOST/x"}`, policy.Allow, ""},
		"a private network":        {nil, get, `{"url":"http://10.0.0.1/x"}`, policy.Approve, "http://10.0.0.1"},
		"no scheme":                {nil, get, `{"url":"example.com/x"}`, policy.Approve, "https://example.com"},
		"no address":               {nil, get, `{"url":"http://["}`, policy.Approve, `"http://["`},
		"a list, one elsewhere":    {nil, get, `{"url":["http://localhost/","https://b.example/"]}`, policy.Approve, "https://b.example"},
		"nothing named":            {nil, get, `{}`, policy.Allow, ""},
		"a recipient":              {nil, tell, `{"recipient":"bob@example.com"}`, policy.Approve, "get_receipt"},
		"an object":                {nil, tell, `{"recipient":{"mail":"x"}}`, policy.Approve, "arguments describe"},
		"granted":                  {grant("http", "url", "https://example.com/**"), get, `{"url":"https://example.com/x"}`, policy.Allow, ""},
		"another granted":          {grant("http", "url", "https://example.com/**"), get, `{"url":"https://example.org/x"}`, policy.Approve, "https://example.org"},
		"a server's read":          {ask, list, `{}`, policy.Allow, ""},
		"a server's read, sent":    {ask, tell, `{"recipient":"bob@example.com"}`, policy.Approve, ""},
		"auto":                     {&policy.Capabilities{DefaultPolicy: policy.Auto}, get, `{"url":"https://example.com/"}`, policy.Allow, ""},
		"granted in part, fits":    {grant("mcp_mail", "folder", "in"), list, `{"folder":"in"}`, policy.Allow, ""},
		"granted in part, another": {grant("mcp_mail", "folder", "in"), list, `{"folder":"out"}`, policy.Approve, "granted with some arguments"},
		"granted in part, absent":  {grant("mcp_mail", "folder", "in"), list, `{}`, policy.Approve, "granted with some arguments"},
		"another parameter":        {grant("mcp_mail", "recipient", "a"), list, `{"folder":"out"}`, policy.Allow, ""},
		"another module":           {grant("*", "folder", "in"), list, `{"folder":"out"}`, policy.Allow, ""},
	} {
		var rules *policy.Rules
		if c.rules != nil {
			var err error
			if rules, err = policy.Compile(c.rules, nil); err != nil {
				t.Fatal(err)
			}
		}
		call := &match.Call{Module: c.tool.ID.Namespace, Action: c.tool.ID.Name, Workspace: "/w"}
		if err := json.Unmarshal([]byte(c.args), &call.Args); err != nil {
			t.Fatal(err)
		}
		d := policy.DecideCall(rules, c.tool, tool.Principal{}, call)
		if d.Verdict != c.want || !strings.Contains(d.Reason, c.why) {
			t.Errorf("%s: %s, %s; want %s, %q", name, d.Verdict, d.Reason, c.want, c.why)
		}
		if daemon := policy.DecideCall(rules, c.tool, tool.Principal{Daemon: true}, call); daemon.Verdict != policy.Allow {
			t.Errorf("%s: the kernel's own call: %s", name, daemon.Verdict)
		}
	}
	if d := policy.Decide(nil, get, tool.Principal{}); d.Verdict != policy.Approve || !d.IsDefault() {
		t.Errorf("before the arguments are known: %+v", d)
	}
	rules, err := policy.Compile(&policy.Capabilities{Grant: []policy.Entry{{Module: "http", Actions: []string{"get"}}}}, nil)
	if err != nil || len(rules.Wider([]*tool.Tool{get})) != 1 {
		t.Errorf("a stranger's grant of any destination needs consent: %v, %v", rules.Wider([]*tool.Tool{get}), err)
	}
}

// A file that is named like a secret asks to be read, whatever tool says that it reads it,
// and to be moved to another name.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	reading := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}}}
	adding, writing, moving := reading, reading, reading
	adding.SideEffect = tool.Write
	writing.SideEffect, writing.Effects = tool.Write, []tool.Effect{{Resource: "file:{path}", Mode: tool.U}}
	moving.SideEffect = tool.Write
	moving.Effects = []tool.Effect{{Resource: "file:{from}", Mode: tool.X}, {Resource: "file:{to}", Mode: tool.X}}
	ask := &policy.Capabilities{}
	for name, c := range map[string]struct {
		rules *policy.Capabilities
		id    string
		as    tool.Runtime
		paths map[string]string
		want  policy.Verdict
	}{
		"read":                   {nil, "filesystem:read@1.0.0", reading, map[string]string{"path": "/w/.env"}, policy.Approve},
		"read, another":          {nil, "filesystem:read@1.0.0", reading, map[string]string{"path": "/w/a.go"}, policy.Allow},
		"read by another module": {nil, "workspace:read@1.0.0", reading, map[string]string{"path": "/w/tokens.json"}, policy.Approve},
		"read by a server":       {ask, "mcp_files:read_file@1.0.0", reading, map[string]string{"path": "/w/.env"}, policy.Approve},
		"a server's other file":  {ask, "mcp_files:read_file@1.0.0", reading, map[string]string{"path": "/w/a.go"}, policy.Allow},
		"kept elsewhere":         {nil, "rag:ingest@1.0.0", adding, map[string]string{"path": "/w/key.pem"}, policy.Approve},
		"written":                {nil, "filesystem:write@1.0.0", writing, map[string]string{"path": "/w/key.pem"}, policy.Allow},
		"moved to another name": {nil, "filesystem:move@1.0.0", moving,
			map[string]string{"from": "/w/tokens.json", "to": "/w/notes.txt"}, policy.Approve},
		"moved elsewhere": {nil, "filesystem:move@1.0.0", moving,
			map[string]string{"from": "/w/tokens.json", "to": "/w/old/tokens.json"}, policy.Allow},
		"moved into a name": {nil, "filesystem:move@1.0.0", moving,
			map[string]string{"from": "/w/notes.txt", "to": "/w/tokens.json"}, policy.Allow},
	} {
		var rules *policy.Rules
		if c.rules != nil {
			var err error
			if rules, err = policy.Compile(c.rules, nil); err != nil {
				t.Fatal(err)
			}
		}
		by := egressTool(t, c.id, c.as, `{}`)
		if d := policy.DecideCall(rules, by, tool.Principal{}, match.Of(by.ID, "/w", c.paths)); d.Verdict != c.want {
			t.Errorf("%s: %s, %s; want %s", name, d.Verdict, d.Reason, c.want)
		}
	}
}
