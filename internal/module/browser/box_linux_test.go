package browser_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/module"
	"callgate/internal/module/browser"
	"callgate/internal/sandbox"
)

// status reads the fields of /proc/PID/status.
func status(t *testing.T, pid string) map[string]string {
	t.Helper()
	f, err := os.Open("/proc/" + pid + "/status")
	check(t, err)
	defer f.Close()
	fields := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}

// Root's browser, which has no sandbox of Chromium's, is in Callgate's: every process of it
// sees the system's programs and its own folder and nothing else of the disk, can gain no
// rights, is filtered, has none of root's powers but over files, and has a network and
// processes of its own. It shows pages all the same.
func TestRootsBrowserIsBoxed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user's browser has Chromium's own sandbox")
	}
	if !sandbox.Probe().Namespaces {
		t.Skip("there are no user namespaces here")
	}
	made, err := os.MkdirTemp("/tmp", "cg") // whose path is short enough for the browser's sockets
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(made)) })
	temp, err := filepath.EvalSymlinks(made)
	check(t, err)
	t.Setenv("TMPDIR", temp)
	secret := filepath.Join(temp, "secret") // beside the browser's folder
	check(t, os.WriteFile(secret, []byte("mine"), 0o644))
	needBrowser(t)
	opened, err := browser.Module().Open(module.Host{})
	check(t, err)
	t.Cleanup(func() { check(t, opened.Close()) })
	f := newFixture(t, opened)
	s := f.session("boxed", nil, local())
	server := site(t, map[string]string{"/": "<h1>Boxed</h1>"})
	r := s.call("navigate", args{"url": server.URL + "/"})
	if len(r.Warnings) > 0 {
		t.Errorf("it warns of %q", r.Warnings)
	}
	found := processes(t, "--user-data-dir="+temp+"/callgate-browser-")
	if len(found) < 2 {
		t.Fatalf("its processes are %q", found)
	}
	host, err := os.Readlink("/proc/self/ns/net")
	check(t, err)
	for _, line := range found {
		pid, _, _ := strings.Cut(line, " ")
		if _, err := strconv.Atoi(pid); err != nil {
			t.Fatal(line)
		}
		root := "/proc/" + pid + "/root"
		entries, err := os.ReadDir(root)
		if os.IsNotExist(err) {
			continue // it has ended meanwhile
		}
		check(t, err)
		for _, e := range entries {
			if e.Name() == "root" || e.Name() == "home" || e.Name() == "srv" || e.Name() == "sys" {
				t.Errorf("process %s sees /%s", pid, e.Name())
			}
		}
		for _, path := range []string{secret, "/etc/shadow", "/etc/hostname", "/root/.bashrc", "/var/lib", "/run/user"} {
			if _, err := os.Lstat(root + path); err == nil {
				t.Errorf("process %s sees %s", pid, path)
			}
		}
		if fonts, err := fs.Stat(os.DirFS(root), "usr/share"); err != nil || !fonts.IsDir() {
			t.Errorf("process %s does not see the system's files: %v", pid, err)
		}
		now := status(t, pid)
		for name, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
			if now[name] != want {
				t.Errorf("process %s: %s is %q, want %q", pid, name, now[name], want)
			}
		}
		caps, err := strconv.ParseUint(now["CapEff"], 16, 64)
		const overFiles = 1<<0 | 1<<1 | 1<<3 | 1<<4 // chown, dac_override, fowner, fsetid
		if err != nil || caps&^overFiles != 0 {
			t.Errorf("process %s has the capabilities %s", pid, now["CapEff"])
		}
		if net, err := os.Readlink("/proc/" + pid + "/ns/net"); err != nil || net == host {
			t.Errorf("process %s is in the network %s, %v", pid, net, err)
		}
	}
}
