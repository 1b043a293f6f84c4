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
