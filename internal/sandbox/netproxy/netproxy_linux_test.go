package netproxy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"callgate/internal/sandbox/netproxy"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	env := netproxy.Environ([]string{"PATH=/bin", "HTTPS_PROXY=http://elsewhere:1", "no_proxy=*", "LANG=C"})
	if !slices.Equal(env[:2], []string{"PATH=/bin", "LANG=C"}) {
		t.Errorf("it begins with %q", env[:2])
	}
	for _, want := range []string{
		"HTTP_PROXY=http://127.0.0.1:911", "https_proxy=http://127.0.0.1:911", "ALL_PROXY=http://127.0.0.1:911",
		"npm_config_https_proxy=http://127.0.0.1:911", "NO_PROXY=", "no_proxy=",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(strings.Join(env, " "), "elsewhere") {
		t.Errorf("another proxy is left: %q", env)
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refused error
		printed string
		want    string // part of it
	}{
		"refused":          {errors.New("10.0.0.1 is a private address"), "ECONNREFUSED", "refused a connection: 10.0.0.1 is"},
		"its own server":   {errors.New("localhost is a loopback address"), "", "NO_PROXY=localhost"},
		"no name server":   {nil, "curl: (6) Could not resolve host: a.test", "did not use it; open it"},
		"no route":         {nil, "dial tcp 192.0.2.1:80: connect: network is unreachable", "did not use it; open it"},
		"no server":        {nil, "connect ECONNREFUSED 127.0.0.1:5432", "the command's own here"},
		"something else":   {nil, "syntax error", ""},
		"nothing was said": {nil, "", ""},
	} {
		got := netproxy.Hint(c.refused, c.printed, "open it")
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
