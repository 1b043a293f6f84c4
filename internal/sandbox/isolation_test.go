//go:build linux

package sandbox_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// inside plays a part at a level; it fails the test when the outcome is not
// the wanted one, and returns what was printed.
func (g *fixture) inside(l level, permitted bool, change func(*sandbox.Spec), part string, args ...string) string {
	g.t.Helper()
	exit, out, err := g.run(l, change, actor(g.t, part, args...)...)
	switch {
	case err != nil:
		g.t.Errorf("%s: %s %q did not run: %v", l.name, part, args, err)
	case permitted && exit.Code != 0:
		g.t.Errorf("%s: %s %q was refused: %+v %s", l.name, part, args, exit, out)
	case !permitted && (exit.Code != 1 || !strings.Contains(out, "refused: ")):
		g.t.Errorf("%s: %s %q was permitted: %+v %q", l.name, part, args, exit, out)
	}
	return out
}

func TestFilesOutOfReach(t *testing.T) {
	t.Parallel()
	for _, l := range append(isolated(t), levels(t)[0]) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			open := l.name == "process" // shows that each of these would be permitted without isolation
			key := g.put(".ssh/id_ed25519", "a private key")
			other := g.put("outside/other.txt", "of others")
			mine := g.put("work/mine.txt", "my own")
			link := filepath.Join(g.workspace, "link")
			ok(t, os.Symlink(other, link))
			ok(t, os.Symlink(g.outside, filepath.Join(g.workspace, "linkdir")))

			g.inside(l, open, nil, "read", key)
			if out := g.inside(l, open || l.full(), nil, "list", g.home); strings.Contains(out, "outside") != open {
				t.Errorf("the home folder shows %q", out)
			}
			g.inside(l, open, nil, "list", filepath.Dir(key))
			g.inside(l, open, nil, "read", other)
			g.inside(l, open, nil, "read", link)
			g.inside(l, open, nil, "read", filepath.Join(g.workspace, "..", "outside", "other.txt"))
			g.inside(l, open, nil, "read", filepath.Join(g.workspace, "linkdir", "other.txt"))
			g.inside(l, open, nil, "read", "/proc/self/root"+other)
			g.inside(l, open, nil, "read", "/proc/"+strconv.Itoa(os.Getpid())+"/environ")
			g.inside(l, open, nil, "write", link)
			g.inside(l, open, nil, "append", other)
			g.inside(l, open, nil, "link", other, filepath.Join(g.workspace, "hard"))
			g.inside(l, open, nil, "rename", mine, filepath.Join(g.outside, "moved"))
			if l.full() {
				g.inside(l, false, nil, "chmod", other)
				g.inside(l, false, nil, "list", "/proc/"+strconv.Itoa(os.Getpid())+"/fd")
			}
			g.inside(l, open, nil, "mkdir", filepath.Join(g.outside, "dir"))
			g.inside(l, open, nil, "write", filepath.Join(g.outside, "new"))
			if !open {
				g.inside(l, false, nil, "write", "/usr/bin/callgate-test")
				g.inside(l, false, nil, "write", "/etc/callgate-test")
				g.inside(l, false, nil, "read", "/etc/shadow")
				want(t, other, "of others")
				want(t, mine, "my own")
			}
			g.inside(l, open, nil, "truncate", other)
			g.inside(l, open, nil, "remove", other)
		})
	}
}

func want(t *testing.T, path, content string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != content {
		t.Errorf("%s is %q, %v; want %q", path, data, err, content)
	}
}

func TestFilesWithinReach(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			g := newFixture(t)
			mine, other := g.put("work/mine.txt", "my own"), g.put("outside/other.txt", "of others")
			shown := func(s *sandbox.Spec) { s.Readable = []string{g.outside} }
			given := func(s *sandbox.Spec) { s.Writable = []string{g.outside} }
			g.inside(l, true, nil, "read", mine)
			g.inside(l, true, nil, "write", filepath.Join(g.workspace, "new"))
			g.inside(l, true, nil, "rename", filepath.Join(g.workspace, "new"), filepath.Join(g.workspace, "newer"))
			g.inside(l, true, shown, "read", other)
			g.inside(l, false, shown, "write", other)
			g.inside(l, true, given, "append", other)
			g.inside(l, true, given, "write", filepath.Join(g.outside, "new"))
			g.inside(l, true, nil, "read", "/etc/passwd")
			g.inside(l, true, nil, "read", "/proc/self/status")
			g.must(l, sh("test -d . && echo x >/dev/null && ls /usr/bin >/dev/null && cat /dev/fd/0 && echo y >/dev/stderr")...)
			g.must(l, sh("id >/dev/null && mv newer newest && mkdir -p a/b && cp newest a/b/ && rm -r a && test $(cat newest) = written")...)

			still := func(s *sandbox.Spec) { s.ReadOnlyWorkspace = true }
			g.inside(l, true, still, "read", mine)
			g.inside(l, false, still, "write", mine)
			g.inside(l, false, still, "write", filepath.Join(g.workspace, "new"))
			only := func(s *sandbox.Spec) { s.ReadOnlyWorkspace, s.Writable = true, []string{mine} }
			g.inside(l, true, only, "write", mine)
			g.inside(l, false, only, "write", filepath.Join(g.workspace, "new"))
			want(t, mine, "written")
		})
	}
}

// A tool that could reach the kernel's socket, or its key, could approve its
// own calls.
func TestKernelIsOutOfReach(t *testing.T) {
	for _, l := range isolated(t) {
		for _, where := range []string{"outside", "work", ""} {
			t.Run(l.name+"/in "+where, func(t *testing.T) {
				g := newFixture(t)
				if where == "" { // the workspace is the home folder
					g.spec.Workspace = g.home
				}
				key := g.put(filepath.Join(where, "state/key"), "the human's key")
				state := filepath.Dir(key)
				socket := filepath.Join(state, "s")
				t.Chdir(state) // the path of a socket must be short
				server, err := net.Listen("unix", "s")
				ok(t, err)
				defer server.Close()
				hide := func(s *sandbox.Spec) { s.Hidden = []string{state} }
				if !l.full() && where != "outside" {
					_, _, err := g.run(l, hide, "/bin/true")
					if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), state) {
						t.Errorf("what cannot be hidden was shown: %v", err)
					}
					return
				}
				g.inside(l, false, hide, "read", key)
				g.inside(l, false, hide, "append", key)
				g.inside(l, false, hide, "dial", "unix", socket)
				g.inside(l, false, func(s *sandbox.Spec) { hide(s); s.Network = true }, "dial", "unix", socket)
				if out := g.inside(l, l.full() && where != "outside", hide, "list", state); strings.Contains(out, "key") {
					t.Errorf("its folder shows %q", out)
				}
				want(t, key, "the human's key")
			})
		}
		t.Run(l.name+"/around the workspace", func(t *testing.T) {
			g := newFixture(t)
			_, _, err := g.run(l, func(s *sandbox.Spec) { s.Hidden = []string{g.home} }, "/bin/true")
			if tool.KindOf(err) != tool.Denied {
				t.Error(err)
			}
		})
	}
}

// When the workspace is the home folder itself, what is secret in it is not.
func TestHomeAsWorkspace(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		g := newFixture(t)
		g.spec.Workspace = g.home
		secrets := []string{g.put(".ssh/id", "s"), g.put(".aws/credentials", "s"), g.put(".netrc", "s"), g.put(".config/gh/hosts.yml", "s")}
		settings, plain := g.put(".config/git/config", "[user]"), g.put("notes.txt", "n")
		if !l.full() {
			if _, _, err := g.run(l, nil, "/bin/true"); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), ".ssh") {
				t.Errorf("%s: %v", l.name, err)
			}
			continue
		}
		for _, path := range secrets {
			g.inside(l, false, nil, "read", path)
		}
		g.inside(l, true, nil, "read", settings)
		g.inside(l, true, nil, "write", plain)
	}
}

func TestNetworkOutOfReach(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	ok(t, err)
	defer udp.Close()
	abstract, err := net.Listen("unix", "@callgate-test-"+newBrand())
	ok(t, err)
	defer abstract.Close()
	for _, l := range append(isolated(t), levels(t)[0]) {
		t.Run(l.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "cg") // sockets lie in it, whose paths must be short
			ok(t, err)
			t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
			g := newFixtureIn(t, dir)
			open := l.name == "process"
			path := filepath.Join(g.outside, "s")
			t.Chdir(g.outside)
			server, err := net.Listen("unix", "s")
			ok(t, err)
			defer server.Close()
			on := func(s *sandbox.Spec) { s.Network = true }

			g.inside(l, open, nil, "dial", "tcp", tcp.Addr().String())
			g.inside(l, open, nil, "dial", "tcp", "[::ffff:127.0.0.1]:"+strings.TrimPrefix(tcp.Addr().String(), "127.0.0.1:"))
			g.inside(l, true, on, "dial", "tcp", tcp.Addr().String())
			g.inside(l, true, on, "dial", "udp", udp.LocalAddr().String())
			g.inside(l, open, nil, "dial", "unix", path)
			g.inside(l, open, nil, "dial", "unix", abstract.Addr().String())
			g.inside(l, open, on, "dial", "unix", path)
			g.inside(l, open, on, "dial", "unix", abstract.Addr().String())
			if l.full() { // its own network is its own business
				if out := g.inside(l, true, nil, "loopback", "tcp", "127.0.0.1:0"); out != "hello from inside" {
					t.Errorf("loopback: %q", out)
				}
				g.inside(l, true, nil, "loopback", "unix", filepath.Join(g.workspace, "own"))
				g.inside(l, true, nil, "loopback", "unix", "@own")
			}
			silent(t, udp, func() { g.run(l, nil, actor(t, "dial", "udp", udp.LocalAddr().String())...) }, open)
		})
	}
}

// silent tells whether a datagram comes while something is done.
func silent(t *testing.T, c net.PacketConn, do func(), heard bool) {
	t.Helper()
	drain := make([]byte, 64)
	for c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); ; {
		if _, _, err := c.ReadFrom(drain); err != nil {
			break
		}
	}
	do()
	ok(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if _, _, err := c.ReadFrom(drain); (err == nil) != heard {
		t.Errorf("a datagram came: %v", err == nil)
	}
}

func TestWaysOutAreShut(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		g := newFixture(t)
		for _, way := range []string{
			"ptrace", "mount", "umount", "bpf", "keyctl", "unshare user", "unshare mount", "clone user", "clone3", "perf",
			"userfaultfd", "io_uring", "process_vm_readv", "open_by_handle_at", "tiocsti", "packet socket", "vsock", "audit netlink",
		} {
			g.inside(l, false, nil, "syscall", way)
			g.inside(l, false, func(s *sandbox.Spec) { s.Network = true }, "syscall", way)
		}
		g.inside(l, false, nil, "write", "/proc/sys/kernel/core_pattern")
		g.inside(l, false, nil, "write", "/proc/1/oom_score_adj")
		if out := g.must(l, sh("grep -c NoNewPrivs:.1 /proc/self/status; grep CapEff /proc/self/status")...); !strings.HasPrefix(out, "1\n") {
			t.Errorf("%s: privileges: %s", l.name, out)
		}
	}
}

func TestOthersAreOutOfSight(t *testing.T) {
	t.Parallel()
	for _, l := range isolated(t) {
		if !l.full() {
			continue
		}
		g, b := newFixture(t), newBrand()
		other := exec.Command("sleep", b)
		ok(t, other.Start())
		defer func() { other.Process.Kill(); other.Wait() }()
		if out := g.must(l, sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")...); strings.Contains(out, "sleep "+b) ||
			!strings.Contains(out, "cat") {
			t.Errorf("it saw %q", out)
		}
		g.must(l, sh("kill -9 -1; true")...)
		if err := other.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("it was not out of reach: %v", err)
		}
	}
}
