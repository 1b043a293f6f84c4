package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/policy"
	"callgate/tool"
)

const urlArgs = `{"type":"object","properties":{"url":{"type":"string"},"query":{"type":"object"}},"required":["url"]}`

// fetches is the runtime view of a tool that requests what its argument url names.
var fetches = tool.Runtime{
	Risk: tool.Low, SideEffect: tool.Read, Network: true, Effects: []tool.Effect{{Resource: "host:{url|host}", Mode: tool.IS}},
}

func rulesOf(t testing.TB, c policy.Capabilities) *policy.Rules {
	t.Helper()
	rules, err := policy.Compile(&c, nil)
	ok(t, err)
	return rules
}

// call without waiting for a human.
func (h *harness) ask(t testing.TB, name, url string) tool.Status {
	t.Helper()
	args, err := json.Marshal(map[string]string{"url": url})
	ok(t, err)
	r := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: name, Args: args, NoWait: true})
	return r.Status
}

// secretSpellings are addresses of http://localhost:18999/secret/x, and of what servers
// may take for it.
var secretSpellings = []string{
	"http://localhost:18999/secret/x", "http://LOCALHOST:18999/secret/x", "HTTP://localhost:18999/secret/x",
	"hTTp://LocalHost:18999/secret/x", "http://localhost.:18999/secret/x", "http://localhost:018999/secret/x",
	"http://localhost:0000018999/secret/x", " http://localhost:18999/secret/x", "http://localhost:18999/secret/x ",
	"\thttp://localhost:18999/secret/x\n", "\u00a0http://localhost:18999/secret/x", "http://ｌocalhost:18999/secret/x",
	"http://ｌｏｃａｌｈｏｓｔ:18999/secret/x", "http://localhost。:18999/secret/x", "http://LOCALHOST．:18999/secret/x",
	"http://%6cocalhost:18999/secret/x", "http://%6C%6F%63alhost:18999/secret/x", "http:localhost:18999/secret/x",
	"http:/localhost:18999/secret/x", "http:///localhost:18999/secret/x", `http:\\localhost:18999\secret\x`,
	"http://user@localhost:18999/secret/x", "http://user:pass@localhost:18999/secret/x", "http://example.com@localhost:18999/secret/x",
	"http://localhost:18999/%73ecret/x", "http://localhost:18999/%73%65%63%72%65%74/x", "http://localhost:18999/secre%74/%78",
	"http://localhost:18999/a/../secret/x", "http://localhost:18999/./secret/x", "http://localhost:18999/../secret/x",
	"http://localhost:18999/a/%2e%2e/secret/x", "http://localhost:18999/a/.%2E/secret/x", "http://localhost:18999/%2e/secret/x",
	"http://localhost:18999/secret/y/../x", "http://localhost:18999/a/b/../../secret/./x", "http://localhost:18999//secret/x",
	"http://localhost:18999///secret//x", "http://localhost:18999/secret%2Fx", "http://localhost:18999/secret%2fx",
	"http://localhost:18999%2Fsecret/x", "http://localhost:18999/a%2F..%2Fsecret/x", "http://localhost:18999/..%2fsecret%2fx",
	`http://localhost:18999\secret\x`, "http://localhost:18999/secret%5Cx", "http://localhost:18999/a%5c..%5csecret/x",
	"http://localhost:18999/%252e%252e/secret/x", "http://localhost:18999/secret%252Fx", "http://localhost:18999/%2573ecret/x",
	"http://localhost:18999/secret;v=1/x", "http://localhost:18999/;a/secret/x", "http://localhost:18999/..;/secret/x",
	"http://localhost:18999/secret/x?", "http://localhost:18999/secret/x?a=b", "http://localhost:18999/secret/x?next=/public",
	"http://localhost:18999/secret/x#/public", "http://localhost:18999/secret/x?#", "http://localhost:18999/secret/",
	"http://localhost:18999/public/../secret/x?../public", "http://LocalHost.:018999/%73ecret/%2e/x#y",
	"http://ＬＯＣＡＬＨＯＳＴ．:018999//%2573ecret;a=1/x", "localhost:18999/secret/x", "http://localhost:18999/secret/x\u2003",
	"http://localhost:18999/%53ecret/../secret/x", "http://localhost:18999/secret/%00x", "http://l\u00adocalhost:18999/secret/x",
}

// A rule that forbids an address forbids it in every spelling, or has a human asked; it
// forbids nothing else.
func TestNoSpellingPassesADeny(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	served := ""
	h.add(t, "http:get@1.0.0", urlArgs, fetches, func(_ context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		served = string(call.Args)
		return tool.OK("served", nil)
	})
	h.rules.Policy = rulesOf(t, policy.Capabilities{
		DefaultPolicy: policy.Auto,
		Deny:          []policy.Entry{{Module: "http", Match: map[string]any{"url": "http://localhost:18999/secret/**"}}},
	})
	if n := len(secretSpellings); n < 60 {
		t.Fatalf("only %d spellings", n)
	}
	for _, url := range secretSpellings {
		served = ""
		if status := h.ask(t, "http.get", url); status != tool.Refused && status != tool.Waiting || served != "" {
			t.Errorf("%q: %s", url, status)
		}
	}
	for _, url := range []string{
		"http://localhost:18999/secrets/x", "http://localhost:18999/public?path=/secret/x", "http://localhost:18999/public#/secret/x",
		"http://localhost:18998/secret/x", "https://localhost:18999/secret/x", "http://localhost.example.com:18999/secret/x",
		"http://localhost:18999/secret/../public", "http://localhost:18999/", "http://localhost:18999/a%20b/secret/x",
	} {
		if status := h.ask(t, "http.get", url); status != tool.Success {
			t.Errorf("%q, which is another address: %s", url, status)
		}
	}
}

// A rule that permits an address permits its spellings, and no other address.
func TestGrantsOfAddresses(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	h.add(t, "http:get@1.0.0", urlArgs, fetches, says("served"))
	h.rules.Policy = rulesOf(t, policy.Capabilities{Grant: []policy.Entry{
		{Module: "http", Match: map[string]any{"url": []any{
			"HTTPS://API.Example.com./v1/**", "https://*.bücher.example/**", "http://127.0.0.1:18999/**", "https://exact.example.com/a%20b",
			"http://[::1]:8080/**", "https://host.example.com/*/read",
		}}},
	}})
	for want, urls := range map[tool.Status][]string{
		tool.Success: {
			"https://api.example.com/v1/x", "https://API.EXAMPLE.COM:443/v1/x?y=z", "https://api.example.com./v1/", " https://api.example.com/v1/x",
			"https://api.example.com/v2/../v1/x", "https://api.example.com/%761/x", "https://api.example.com/v1/a%2Fb",
			"https://shop.xn--bcher-kva.example/x", "https://a.b.BÜCHER.example/", "http://127.0.0.1:18999/", "http://2130706433:18999/a",
			"http://[::ffff:127.0.0.1]:18999/a", "https://exact.example.com/a b", "https://exact.example.com/a%20b/",
			"http://[0::1]:8080/x", "https://host.example.com/a/read",
		},
		tool.Waiting: {
			"http://api.example.com/v1/x", "https://api.example.com:8443/v1/x", "https://api.example.com/v1", "https://api.example.com/v2/x",
			"https://api.example.com/v1/../v2", "https://api.example.com/v1/..%2Fv2/x", "https://api.example.com/v1/%252e%252e/v2/x",
			"https://api.example.com/v1/..;/v2/x", `https://api.example.com/v1/..%5cv2/x`, "https://user@api.example.com/v1/x",
			"https://api.example.com.evil.example/v1/x", "https://evil.example/https://api.example.com/v1/x",
			"https://evil.example#https://api.example.com/v1/x", "https://api.example.com@evil.example/v1/x",
			"https://bücher.example/x", "http://localhost:18999/", "https://exact.example.com/a%20b?x=1", "https://exact.example.com/a",
			"https://host.example.com/a?b=/read", "https://host.example.com/a/b/read", "api.example.com/v1/x", "https://api.example.com/v1/%zz",
		},
	} {
		for _, url := range urls {
			if got := h.ask(t, "http.get", url); got != want {
				t.Errorf("%q: %s, want %s", url, got, want)
			}
		}
	}
}

// Each hop of a redirect is judged as a call of its own would be.
func TestHops(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	var to, from, as string
	h.add(t, "http:get@1.0.0", urlArgs, fetches, func(ctx context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
		if err := g.Follow(ctx, tool.Hop{URL: to, From: from, Tool: as}); err != nil {
			return nil, err
		}
		return tool.OK("followed", nil)
	})
	h.add(t, "http:head@1.0.0", urlArgs, fetches, says("never"))
	grant := func(urls ...any) policy.Entry {
		return policy.Entry{Module: "http", Match: map[string]any{"url": urls}}
	}
	deny := policy.Entry{Module: "*", Match: map[string]any{"url": "https://*.denied.example/**"}, Reason: "no"}
	for name, c := range map[string]struct {
		rules        *policy.Capabilities
		first        string
		to, from, as string
		want         string
	}{
		"granted": {&policy.Capabilities{Grant: []policy.Entry{grant("https://a.example/**")}},
			"https://a.example/x", "https://A.example./y", "", "", ""},
		"another host": {&policy.Capabilities{Grant: []policy.Entry{grant("https://a.example/**")}},
			"https://a.example/x", "https://b.example/y?q=1", "", "", "https://b.example/y?q=1 was not requested"},
		"another path": {&policy.Capabilities{Grant: []policy.Entry{grant("https://a.example/x/**")}},
			"https://a.example/x/1", "https://a.example/y", "", "", "https://a.example/y was not requested"},
		"loopback by another name": {&policy.Capabilities{Grant: []policy.Entry{grant("http://127.0.0.1:1/**")}},
			"http://127.0.0.1:1/x", "http://localhost:1/secret", "", "", "was not requested"},
		"both granted": {&policy.Capabilities{Grant: []policy.Entry{grant("https://a.example/**", "https://b.example/**")}},
			"https://a.example/x", "https://b.example/y", "", "", ""},
		"auto": {&policy.Capabilities{DefaultPolicy: policy.Auto}, "https://a.example/x", "https://b.example/y", "", "", ""},
		"denied under auto": {&policy.Capabilities{DefaultPolicy: policy.Auto, Deny: []policy.Entry{deny}},
			"https://a.example/x", "https://x.DENIED.example/y", "", "", "deny rule for *.*"},
		"from a page": {&policy.Capabilities{Grant: []policy.Entry{grant("https://a.example/**")}},
			"https://a.example/x", "https://b.example/z", "https://b.example/y", "head", ""},
		"from a page, denied": {&policy.Capabilities{DefaultPolicy: policy.Auto, Deny: []policy.Entry{deny}},
			"https://a.example/x", "https://x.denied.example/z", "https://x.denied.example/y", "head", "deny rule"},
		"as a tool that there is not": {&policy.Capabilities{DefaultPolicy: policy.Auto},
			"https://a.example/x", "https://b.example/z", "", "mail.send", "mail.send is not available"},
		"without rules, on this machine": {nil, "http://localhost:1/x", "http://127.0.0.1:2/y", "", "", ""},
		"without rules, off this machine": {nil, "http://localhost:1/x", "https://b.example/?d=1", "", "",
			"https://b.example/?d=1 was not requested: http.get sends a request to https://b.example, and no rule lists that destination"},
	} {
		t.Run(name, func(t *testing.T) {
			if h.rules.Policy = nil; c.rules != nil {
				h.rules.Policy = rulesOf(t, *c.rules)
			}
			to, from, as = c.to, c.from, c.as
			r := h.call(t, "http.get", fmt.Sprintf(`{"url":%q}`, c.first))
			if (r.Status == tool.Success) != (c.want == "") || !strings.Contains(r.Summary, c.want) {
				t.Errorf("%s: %s, want %q", r.Status, r.Summary, c.want)
			}
		})
	}
}
