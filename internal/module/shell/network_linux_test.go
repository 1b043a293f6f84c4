package shell_test

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/module/shell"
	"callgate/internal/netguard"
	"callgate/internal/netguard/netguardtest"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// online runs commands with the network, as an app file gives it.
type online struct {
	t       *testing.T
	folder  string
	network *netguardtest.Network
	helpers *sandbox.Helpers
}

func newOnline(t *testing.T, n *netguardtest.Network) *online {
	t.Helper()
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("no namespaces here")
	}
	o := &online{t, workspace(t), n, sandbox.NewHelpers()}
	t.Cleanup(o.helpers.Close)
	return o
}

// run runs a command with the blocks config and constraints of an app file.
func (o *online) run(config, constraints map[string]any, command string) *tool.Result {
	o.t.Helper()
	m := shell.Module()
	settings, err := m.Read(config, constraints)
	if err != nil {
		o.t.Fatal(err)
	}
	root, err := os.OpenRoot(o.folder)
	if err != nil {
		o.t.Fatal(err)
	}
	defer root.Close()
	args, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		o.t.Fatal(err)
	}
	bash := shell.Tools(shell.Config{Resolver: o.network.Resolver, Helpers: o.helpers})[0]
	r, err := bash.Handler.Execute(o.t.Context(), tool.Call{ID: "c1", Args: args},
		tool.Grant{Workspace: o.folder, Root: root, Settings: settings})
	if err != nil {
		o.t.Fatalf("%s: %v", command, err)
	}
	return r
}

var on = map[string]any{"network": true}

const fetchWith = "curl -sS -m 5 -L "

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := os.Stat("/usr/bin/" + p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
}

func TestCommandsReachThePublicNetwork(t *testing.T) {
	t.Parallel()
	need(t, "curl", "wget", "git")
	netguardtest.Run(t, func(n *netguardtest.Network) {
		o := newOnline(t, n)
		for _, command := range []string{
			fetchWith + "http://public.test/", fetchWith + "http://" + netguardtest.Public4 + ":8080/",
			fetchWith + "-p http://public.test/", // by a tunnel
			"wget -q -T 5 -t 1 -O - http://public.test/", fetchWith + "http://[" + netguardtest.Public6 + "]/",
		} {
			if r := o.run(on, nil, command); r.Status != tool.Success || !strings.Contains(text(r), netguardtest.Words) {
				t.Errorf("%s: %s %s", command, r.Summary, text(r))
			}
		}
		n.Greeted()
		o.run(on, nil, "git ls-remote http://public.test/repository")
		if n.Greeted() == 0 {
			t.Error("git did not reach the public server")
		}
		if got := n.Reached(); len(got) > 0 {
			t.Errorf("they reached %v", got)
		}
	})
}

func TestCommandsReachNothingPrivate(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	netguardtest.Run(t, func(n *netguardtest.Network) {
		o := newOnline(t, n)
		if out, err := exec.Command("ip", "addr", "add", "9.9.9.9/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, target := range []string{
			"http://9.9.9.9/", // this machine's own
			"http://127.0.0.1:8080/", "http://169.254.169.254/latest/", "http://[::1]:8080/", "http://localhost/",
			"http://10.0.0.1/", "http://at-127-0-0-1.test/", "http://many.test/", "http://[fd00::2]/",
			netguardtest.Redirect(302, "http://169.254.169.254/", 1),
		} {
			r := o.run(on, nil, fetchWith+"-f '"+target+"'")
			if r.Status == tool.Success || !strings.Contains(r.Error.Hint, "the network guard refused a connection: ") ||
				!strings.Contains(r.Error.Hint, "tools.modules.shell.constraints.private_hosts") {
				t.Errorf("%s: %s %s", target, r.Summary, text(r))
			}
		}
		for range 3 { // the first answer is public, and the later ones are not
			o.run(on, nil, "for i in 1 2 3; do "+fetchWith+"http://rebind1.test/; done")
		}
		var urls []string
		for _, f := range netguardtest.Forms() {
			if !strings.Contains(f.URL, "rebind") && !strings.ContainsAny(f.URL, "\n\r\x00'\"\\") {
				urls = append(urls, f.URL)
			}
		}
		if err := os.WriteFile(filepath.Join(o.folder, "urls"), []byte(strings.Join(urls, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		r := o.run(on, nil, "xargs -d '\\n' -n 60 -P 2 curl -gsS -m 5 < urls 2>/dev/null")
		t.Logf("%d forms: %s", len(urls), r.Summary)
		public, err := netguard.New(netguard.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range n.Reached() { // curl reads 010.0.0.1 as 8.0.0.1, which is public
			if err := public.Check(&url.URL{Scheme: "http", Host: addr}); err != nil {
				t.Errorf("reached: %s, and %v", addr, err)
			}
		}
	})
}

// What goes around the proxy finds nothing but the command's own loopback.
func TestRawSocketsFindNoNetwork(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	netguardtest.Run(t, func(n *netguardtest.Network) {
		o := newOnline(t, n)
		for command, hint := range map[string]string{
			"exec 3<>/dev/tcp/" + netguardtest.Public4 + "/80":   "only through the proxy",
			fetchWith + "--noproxy '*' http://public.test/":      "only through the proxy",
			fetchWith + "--noproxy '*' http://127.0.0.1:8080/":   "localhost is the command's own",
			"exec 3<>/dev/tcp/169.254.169.254/80":                "network: direct",
			"env -i PATH=$PATH " + fetchWith + "http://10.0.0.1": "network: direct",
			"exec 3<>/dev/tcp/127.0.0.1/8080":                    "network: direct",
		} {
			r := o.run(on, nil, command)
			if r.Status == tool.Success || !strings.Contains(r.Error.Hint, hint) {
				t.Errorf("%s: %s %s", command, r.Summary, text(r))
			}
		}
		o.run(on, nil, "echo x > /dev/udp/127.0.0.1/5353; echo x > /dev/udp/8.8.8.8/53")
		if got, greeted := n.Reached(), n.Greeted(); len(got) > 0 || greeted > 0 {
			t.Errorf("reached: %v, and the public server %d times", got, greeted)
		}
	})
}

func TestHostsOfTheAppFile(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	netguardtest.Run(t, func(n *netguardtest.Network) {
		o := newOnline(t, n)
		const loopback = fetchWith + "-f http://127.0.0.1:8080/"
		list := func(hosts ...any) []any { return hosts }
		for name, c := range map[string]struct {
			config, constraints map[string]any
			command             string
			reached             bool
		}{
			"private":             {on, map[string]any{"private_hosts": list("127.0.0.1:8080")}, loopback, true},
			"private, other port": {on, map[string]any{"private_hosts": list("127.0.0.1:80")}, loopback, false},
			"denied":              {on, map[string]any{"denied_hosts": list("public.test")}, fetchWith + "-f public.test", false},
			"allowed":             {on, map[string]any{"allowed_hosts": list("public.test")}, fetchWith + "-f public.test", true},
			"not allowed":         {on, map[string]any{"allowed_hosts": list("else.test")}, fetchWith + "-f public.test", false},
			"direct":              {map[string]any{"network": "direct"}, nil, loopback, true},
			"off":                 {map[string]any{"network": false}, nil, loopback, false},
		} {
			r := o.run(c.config, c.constraints, c.command)
			if got := strings.Contains(text(r), netguardtest.Words); got != c.reached {
				t.Errorf("%s: reached %t: %s %s", name, got, r.Summary, text(r))
			}
		}
	})
}

// Commands with the network, many at a time, leave nothing.
func TestCommandsWithTheNetworkLeaveNothing(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	netguardtest.Run(t, func(n *netguardtest.Network) {
		o := newOnline(t, n)
		o.run(on, nil, fetchWith+"http://public.test/")
		o.helpers.Close()
		before := runtime.NumGoroutine()
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				// The last connection of each is open when the command ends.
				r := o.run(on, nil, fetchWith+"http://public.test/; exec 3<>/dev/tcp/127.0.0.1/911; "+
					"printf 'CONNECT public.test:80 HTTP/1.1\\r\\nHost: public.test\\r\\n\\r\\n' >&3; read -r line <&3; echo $line")
				if got := text(r); !strings.Contains(got, netguardtest.Words) || !strings.Contains(got, "200 Connection established") {
					t.Errorf("run %d: %s %s", i, r.Summary, got)
				}
			})
		}
		group.Wait()
		o.helpers.Close()
		for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(deadline) {
				buf := make([]byte, 1<<16)
				t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
			}
		}
	})
}

func TestNetworkSettings(t *testing.T) {
	t.Parallel()
	m := shell.Module()
	for name, c := range map[string]struct {
		config, constraints map[string]any
		want                string
	}{
		"true":                 {on, nil, ""},
		"direct":               {map[string]any{"network": "direct"}, nil, ""},
		"another word":         {map[string]any{"network": "open"}, nil, "it must be true, false or direct"},
		"hosts":                {on, map[string]any{"private_hosts": []any{"10.0.0.0/8"}}, ""},
		"not a host":           {on, map[string]any{"private_hosts": []any{"a b"}}, "a b"},
		"hosts beside direct":  {map[string]any{"network": "direct"}, map[string]any{"denied_hosts": []any{"a.test"}}, "goes around"},
		"hosts and no network": {nil, map[string]any{"denied_hosts": []any{"a.test"}}, ""},
	} {
		_, err := m.Read(c.config, c.constraints)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
