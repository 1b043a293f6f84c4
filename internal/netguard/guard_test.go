package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"callgate/internal/netguard"
	"callgate/tool"
)

func newGuard(t testing.TB, r netguard.Rules) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules  netguard.Rules
		url    string
		errHas string // "": it passes
	}{
		"a name":                  {netguard.Rules{}, "https://example.com/a?b=c#d", ""},
		"a public address":        {netguard.Rules{}, "http://8.8.8.8/", ""},
		"a public IPv6 address":   {netguard.Rules{}, "http://[2a00:1450:4001:800::200e]/", ""},
		"NAT64 of a public one":   {netguard.Rules{}, "http://[64:ff9b::8.8.8.8]/", ""},
		"6to4 of a public one":    {netguard.Rules{}, "http://[2002:808:808::1]/", ""},
		"another script":          {netguard.Rules{}, "http://bücher.example/", ""},
		"an underscore":           {netguard.Rules{}, "http://my_host.example.com/", ""},
		"a web socket":            {netguard.Rules{}, "wss://example.com/", ""},
		"a loopback address":      {netguard.Rules{}, "http://127.0.0.1:8080/", "127.0.0.1 is a loopback address, not public (the app file may allow it: tools.modules.http.constraints.private_hosts)"},
		"another setting":         {netguard.Rules{Setting: "tools.modules.web.constraints"}, "http://10.1.2.3/", "10.1.2.3 is a private address, not public (the app file may allow it: tools.modules.web.constraints.private_hosts)"},
		"metadata":                {netguard.Rules{}, "http://169.254.169.254/latest/", "is the metadata service of a cloud, not public (the app file may allow it, by its address"},
		"localhost":               {netguard.Rules{}, "http://localhost/", "localhost, at 127.0.0.1, is a loopback address"},
		"an odd spelling":         {netguard.Rules{}, "http://0x7f.1/", "unusual spelling"},
		"an odd public spelling":  {netguard.Rules{}, "http://134744072/", "unusual spelling"},
		"other digits":            {netguard.Rules{}, "http://８.８.８.８/", "in other letters"},
		"a user":                  {netguard.Rules{}, "http://example.com:80@evil.example/", "user name before its host"},
		"no host":                 {netguard.Rules{}, "http:///etc/passwd", "has no host"},
		"no scheme":               {netguard.Rules{}, "example.com/a", "has no scheme"},
		"an opaque one":           {netguard.Rules{}, "http:example.com", "has no host"},
		"a file":                  {netguard.Rules{}, "file:///etc/passwd", "scheme file"},
		"port nought":             {netguard.Rules{}, "http://example.com:0/", "not a port"},
		"a port too large":        {netguard.Rules{}, "http://example.com:65536/", "not a port"},
		"among the allowed":       {netguard.Rules{AllowedHosts: []string{"example.com"}}, "http://EXAMPLE.com./", ""},
		"not among the allowed":   {netguard.Rules{AllowedHosts: []string{"example.com"}}, "http://a.example.com/", "a.example.com is not among the allowed hosts"},
		"below an allowed":        {netguard.Rules{AllowedHosts: []string{"*.example.com"}}, "http://a.b.example.com/", ""},
		"not below it":            {netguard.Rules{AllowedHosts: []string{"*.example.com"}}, "http://example.com/", "not among"},
		"ends alike":              {netguard.Rules{AllowedHosts: []string{"*.example.com"}}, "http://badexample.com/", "not among"},
		"allowed on a port":       {netguard.Rules{AllowedHosts: []string{"example.com:443"}}, "https://example.com/", ""},
		"allowed on another port": {netguard.Rules{AllowedHosts: []string{"example.com:443"}}, "http://example.com/", "not among"},
		"allowed but private":     {netguard.Rules{AllowedHosts: []string{"127.0.0.1"}}, "http://127.0.0.1/", "loopback"},
		"denied wins":             {netguard.Rules{AllowedHosts: []string{"*"}, DeniedHosts: []string{"*.evil.example"}}, "http://x.evil.example/", "is a denied host"},
		"denied and private":      {netguard.Rules{Private: []string{"10.0.0.0/8"}, DeniedHosts: []string{"10.0.0.7"}}, "http://10.0.0.7/", "denied"},
		"allowed in its script":   {netguard.Rules{AllowedHosts: []string{"bücher.example"}}, "http://xn--bcher-kva.example/", ""},
		"a port of the rules":     {netguard.Rules{Ports: []int{443}}, "https://example.com/", ""},
		"another port":            {netguard.Rules{Ports: []int{443}}, "https://example.com:8443/", "port 8443 is not among the allowed ports"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = newGuard(t, c.rules).Check(u)
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
		var e *tool.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != tool.Denied && e.Kind != tool.Invalid) {
			t.Errorf("%s: %#v is not a refusal", name, err)
		}
	}
	if err := newGuard(t, netguard.Rules{}).Check(nil); tool.KindOf(err) != tool.Invalid {
		t.Errorf("no URL: %v", err)
	}
	// A URL that was not parsed may have any host.
	for _, host := range []string{"::1", "::1:80", "a b", "127.0.0.1\\x", "ex%61mple.com", "[::1", "[127.0.0.1]x"} {
		if err := newGuard(t, netguard.Rules{}).Check(&url.URL{Scheme: "http", Host: host}); err == nil {
			t.Errorf("the host %q passed", host)
		}
	}
}

// An address of this machine is not public, whatever it is.
func TestAddressesOfThisMachine(t *testing.T) {
	t.Parallel()
	list := func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.ParseIP("8.8.4.4"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("2a00:1450::1"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	unknown := func() ([]net.Addr, error) { return nil, errors.New("not now") }
	for name, c := range map[string]struct {
		rules  netguard.Rules
		url    string
		errHas string
	}{
		"its own":         {netguard.Rules{Interfaces: list}, "http://8.8.4.4/", "8.8.4.4 is an address of this machine, not public"},
		"its own, mapped": {netguard.Rules{Interfaces: list}, "http://[::ffff:8.8.4.4]/", "of this machine"},
		"its own, IPv6":   {netguard.Rules{Interfaces: list}, "http://[2a00:1450::1]/", "of this machine"},
		"its neighbour":   {netguard.Rules{Interfaces: list}, "http://8.8.4.5/", ""},
		"opened":          {netguard.Rules{Interfaces: list, Private: []string{"8.8.4.4"}}, "http://8.8.4.4/", ""},
		"not asked":       {netguard.Rules{}, "http://8.8.4.4/", ""},
		"not known":       {netguard.Rules{Interfaces: unknown}, "http://8.8.4.4/", "of this machine"},
		"another hint":    {netguard.Rules{Hint: "ask for more"}, "http://10.0.0.1/", "10.0.0.1 is a private address, not public (ask for more)"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		err = newGuard(t, c.rules).Check(u)
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, hint string }{
		{"https://example.com", "without http://"},
		{"example.com/path", "examples"},
		{"", "examples"},
		{"*.10.0.0.1", "examples"},
		{"10.0.0.0/33", "examples"},
		{"example.com:port", "a port from 1"},
		{"example.com:70000", "a port from 1"},
		{"exa mple.com", "examples"},
		{"a*.example.com", "examples"},
		{"0x7f.1", "examples"},
		{"fe80::1%eth0", "examples"},
	} {
		for _, r := range []netguard.Rules{{AllowedHosts: []string{c.host}}, {DeniedHosts: []string{c.host}},
			{Private: []string{c.host}}} {
			_, err := netguard.New(r)
			if tool.KindOf(err) != tool.Invalid || err != nil && !strings.Contains(err.Error(), "is not a host") {
				t.Errorf("%q: %v", c.host, err)
			}
		}
	}
	if _, err := netguard.New(netguard.Rules{Ports: []int{0}}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("port 0: %v", err)
	}
}

// fixed resolves every name to the same addresses.
type fixed []string

func (f fixed) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, a := range f {
		all = append(all, netip.MustParseAddr(a))
	}
	return all, nil
}

func TestDialRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer           fixed
		network, address string
		errHas           string
	}{
		"a unix socket":       {nil, "unix", "/var/run/docker.sock", `the kind "unix"`},
		"udp":                 {nil, "udp", "example.com:53", `the kind "udp"`},
		"no port":             {nil, "tcp", "example.com", "not a host and a port"},
		"a named port":        {nil, "tcp", "example.com:http", "not a port"},
		"a zone":              {nil, "tcp", "[fe80::1%lo]:80", "without a zone"},
		"a private answer":    {fixed{"10.0.0.1"}, "tcp", "example.com:80", "example.com, at 10.0.0.1, is a private address"},
		"a mixed answer":      {fixed{"8.8.8.8", "127.0.0.1"}, "tcp", "example.com:80", "example.com, at 127.0.0.1, is a loopback"},
		"a mapped answer":     {fixed{"::ffff:169.254.169.254"}, "tcp", "example.com:80", "metadata"},
		"an answer of a zone": {fixed{"fe80::1%lo"}, "tcp", "example.com:80", "an address with a zone"},
		"no answer":           {fixed{}, "tcp", "example.com:80", "has no address"},
	} {
		conn, err := newGuard(t, netguard.Rules{Resolver: c.answer}).DialContext(t.Context(), c.network, c.address)
		if err == nil {
			_ = conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v, want %q", name, err, c.errHas)
		}
	}
	// A denied address is denied under every name.
	g := newGuard(t, netguard.Rules{Resolver: fixed{"8.8.8.8"}, DeniedHosts: []string{"8.8.0.0/16"}})
	if _, err := g.DialContext(t.Context(), "tcp", "example.com:80"); tool.KindOf(err) != tool.Denied {
		t.Errorf("a denied prefix: %v", err)
	}
}

// Whatever the host of a URL is, Check passes only names, and addresses that the
// standard library does not know as local.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"example.com", "127.0.0.1", "2130706433", "[::1]", "１２７.1", "a@b", "localhost.", "%31",
		"0x7f.0.0.1", "[64:ff9b::7f00:1]"} {
		f.Add(seed)
	}
	g := newGuard(f, netguard.Rules{})
	f.Fuzz(func(t *testing.T, host string) {
		u, err := url.Parse("http://" + host + "/")
		if err != nil || g.Check(u) != nil {
			return
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "" {
			t.Errorf("%q passed", host)
		}
		if last := name[strings.LastIndexByte(name, '.')+1:]; strings.Trim(last, "0123456789") == "" {
			if _, err := netip.ParseAddr(name); err != nil {
				t.Errorf("%q passed as the name %q", host, name)
			}
		}
		a, err := netip.ParseAddr(name)
		if err != nil {
			return
		}
		a = a.Unmap()
		if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
			a.Zone() != "" {
			t.Errorf("%q passed as %v", host, a)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	g := newGuard(b, netguard.Rules{AllowedHosts: []string{"*.example.com", "example.com"},
		DeniedHosts: []string{"bad.example.com"}})
	u, _ := url.Parse("https://api.example.com/v1/things?q=1")
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(u); err != nil {
			b.Fatal(err)
		}
	}
}
