package sandbox_test

import (
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/sandbox"
)

// greeter serves a word to whoever connects, in the place of a proxy, and counts
// those that serve.
type greeter struct{ serving, served atomic.Int64 }

func (g *greeter) serve(l net.Listener) (stop func()) {
	g.serving.Add(1)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.served.Add(1)
			io.WriteString(c, "from outside")
			c.Close()
		}
	})
	return func() {
		l.Close()
		group.Wait()
		g.serving.Add(-1)
	}
}

// full returns the level with namespaces.
func full(t testing.TB) level {
	t.Helper()
	list := levels(t)
	if l := list[len(list)-1]; l.full() {
		return l
	}
	t.Skip("no namespaces here")
	return level{}
}

// askProxy prints what the proxy says, by the address in the environment.
const askProxy = `p=${http_proxy#http://}; exec 3<>/dev/tcp/${p%:*}/${p#*:} && cat <&3`

func bash(script string) []string { return []string{"/bin/bash", "-c", script} }

func TestProxiedRun(t *testing.T) {
	l := full(t)
	g, proxy := newFixture(t), new(greeter)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer server.Close()
	on := func(s *sandbox.Spec) {
		s.Network, s.Proxy = true, proxy.serve
		s.Env = append(s.Env, "HTTP_PROXY=http://elsewhere:1", "NO_PROXY=*")
	}
	exit, out, err := g.run(l, on, bash(askProxy)...)
	if err != nil || exit.Code != 0 || out != "from outside" || len(exit.Missing) > 0 {
		t.Errorf("the proxy: %+v, %v, %q", exit, err, out)
	}
	g.inside(l, false, on, "dial", "tcp", server.Addr().String())
	g.inside(l, false, on, "dial", "tcp", "192.0.2.1:80")
	g.inside(l, false, on, "dial", "udp", "192.0.2.1:53")
	g.inside(l, false, on, "dial", "tcp", "[2001:db8::1]:80")
	g.inside(l, false, on, "syscall", "packet socket")
	if out := g.inside(l, true, on, "loopback", "tcp", "127.0.0.1:0"); out != "hello from inside" {
		t.Errorf("its own server: %q", out)
	}
	_, out, err = g.run(l, on, bash("env | grep -i proxy | sort; ls /proc/self/fd; cat /proc/net/dev | grep -c :")...)
	ok(t, err)
	const want = "ALL_PROXY=X\nHTTPS_PROXY=X\nHTTP_PROXY=X\nNO_PROXY=\nall_proxy=X\nhttp_proxy=X\nhttps_proxy=X\nno_proxy=\n" +
		"npm_config_https_proxy=X\nnpm_config_noproxy=\nnpm_config_proxy=X\n0\n1\n2\n3\n1\n"
	if out = strings.ReplaceAll(out, "http://127.0.0.1:911", "X"); out != want {
		t.Errorf("it finds\n%s, want\n%s", out, want)
	}
	if n := proxy.serving.Load(); n != 0 || proxy.served.Load() != 1 {
		t.Errorf("%d proxies serve, %d were asked", n, proxy.served.Load())
	}
	_, _, err = g.run(l, on, "/does/not/exist")
	if err == nil || proxy.serving.Load() != 0 {
		t.Errorf("a command that does not run: %v, %d proxies serve", err, proxy.serving.Load())
	}
}

// Where there are no namespaces the network is direct, and the exit says so.
func TestProxyNeedsNamespaces(t *testing.T) {
	for _, l := range levels(t) {
		if l.full() {
			continue
		}
		proxy := new(greeter)
		exit, out, err := newFixture(t).run(l, func(s *sandbox.Spec) { s.Network, s.Proxy = true, proxy.serve },
			bash("echo $HTTP_PROXY")...)
		if err != nil || strings.TrimSpace(out) != "" || !strings.Contains(strings.Join(exit.Missing, "; "), "public addresses") {
			t.Errorf("%s: %+v, %v, %q", l.name, exit, err, out)
		}
	}
}

// Proxied runs, many at a time and beside others, each have their own proxy, and
// leave neither a goroutine nor a descriptor.
func TestProxiedRunsAtOnce(t *testing.T) {
	k := newPoolFixture(t, full(t), time.Hour)
	k.must(nil, "true")
	k.pool.Close()
	goroutines, open := runtime.NumGoroutine(), descriptors(t)
	proxy := new(greeter)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if i%4 == 3 {
				k.must(nil, "true")
				return
			}
			on := func(s *sandbox.Spec) { s.Network, s.Proxy = true, proxy.serve }
			if out := k.must(on, bash(askProxy)...); out != "from outside" {
				t.Errorf("run %d: %q", i, out)
			}
		})
	}
	group.Wait()
	k.pool.Close()
	until(t, "nothing is left", func() bool {
		return proxy.serving.Load() == 0 && runtime.NumGoroutine() <= goroutines && descriptors(t) <= open
	})
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	ok(t, err)
	return len(list)
}

// A helper that waited for a run without the network serves one with a proxy.
func TestProxiedRunTakesTheHelperThatWaits(t *testing.T) {
	k, proxy := newPoolFixture(t, full(t), time.Hour), new(greeter)
	on := func(s *sandbox.Spec) { s.Network, s.Proxy = true, proxy.serve }
	direct := func(s *sandbox.Spec) { s.Network = true }
	k.must(nil, "true")
	for _, change := range []func(*sandbox.Spec){on, nil, on, direct, on, direct} {
		pid := k.waiting()
		k.must(change, "true")
		if k.waiting() == pid {
			t.Error("the helper that waited was not used")
		}
	}
}

// A run that is stopped, or killed in the middle of a connection, ends its proxy.
func TestProxyEndsWithTheRun(t *testing.T) {
	l, g, proxy := full(t), newFixture(t), new(greeter)
	brand := newBrand()
	exit, _, err := g.run(l, func(s *sandbox.Spec) { s.Network, s.Proxy = true, proxy.serve },
		bash("setsid sleep "+brand+" & "+askProxy+"; kill -KILL $$")...)
	if err != nil || exit.Signal != "SIGKILL" || proxy.serving.Load() != 0 {
		t.Errorf("%+v, %v, %d proxies serve", exit, err, proxy.serving.Load())
	}
	gone(t, brand)
}
