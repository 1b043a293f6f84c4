package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const outsideSecret = "OUTSIDE-SECRET-5519"

// escapes are paths that try to leave the workspace: every spelling of "up",
// at every depth, to every target, and what hand-picked tricks there are.
func escapes(workspace, outside string) []string {
	var all []string
	for _, up := range []string{"..", "./..", ".././", "..//", "dir/../..", "dir/./../..", "up", "dir/deep", "link/..", "a/b/c/../../../..", "./dir/../up"} {
		for _, repeat := range []int{1, 2, 3, 8} {
			for _, target := range []string{"secret", "outside/secret", strings.TrimPrefix(outside, "/") + "/secret", "etc/passwd"} {
				all = append(all, strings.TrimSuffix(strings.Repeat(up+"/", repeat), "/")+"/"+target)
			}
		}
	}
	for _, prefix := range []string{"", "/", "//", "/./", "/proc/self/root", "/proc/self/cwd/..", "/proc/1/root", "/dev/fd/../../..", "file://", "~/..", workspace + "/..", workspace + "/../../../../..", workspace + "x/..", "\\\\?\\"} {
		for _, target := range []string{outside + "/secret", "/etc/passwd", "/dev/mem", "/dev/sda", "/proc/self/environ", "/proc/kcore"} {
			all = append(all, prefix+target)
		}
	}
	return append(
		all,
		"link",
		"link/",
		"link/.",
		"dir-link",
		"dir-link/secret",
		"chain/two/secret",
		"dir/../dir-link/secret",
		"dangling",
		"dangling/x",
		"fifo",
		"socketless",
		"dev-link",
		"proc-link/self/environ",
		"proc-link/self/root/etc/passwd",
		"self-link",
		"self-link/x",
		"..\\outside\\secret",
		"%2e%2e/outside/secret",
		"..%2foutside%2fsecret",
		"\u2025/outside/secret",
		"\uff0e\uff0e/outside/secret",
		"..\x00/outside/secret",
		"outside\x00",
		".. /outside/secret",
		"...",
		"....//outside/secret",
		"~root/.ssh/id_rsa",
		"$HOME/.ssh/id_rsa",
		"`pwd`/../outside/secret",
		strings.Repeat("../", 500)+"etc/passwd",
		strings.Repeat("a/", 5000)+"x",
		strings.Repeat("x", 5000),
	)
}

// TestNoPathEscapes makes every file tool try every escape, through the whole
// gate. Nothing outside is read, nothing outside changes.
func TestNoPathEscapes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the tricks here are those of unix")
	}
	ground := t.TempDir()
	workspace, outside := filepath.Join(ground, "work"), filepath.Join(ground, "outside")
	for _, dir := range []string{workspace + "/dir", workspace + "/chain", workspace + "/a/b/c", outside} {
		ok(t, os.MkdirAll(dir, 0o755))
	}
	write(t, filepath.Join(outside, "secret"), outsideSecret+"\n")
	write(t, filepath.Join(ground, "secret"), outsideSecret+"\n")
	write(t, filepath.Join(workspace, "callgate.yaml"), freeHand)
	for link, to := range map[string]string{
		"link": "../outside/secret", "dir-link": outside, "up": "..", "dir/deep": "../../outside", "chain/one": "../dir-link",
		"chain/two": "one", "dangling": "../outside/new", "dev-link": "/dev/zero", "proc-link": "/proc", "self-link": "self-link",
	} {
		ok(t, os.Symlink(to, filepath.Join(workspace, link)))
	}
	makeFIFO(t, filepath.Join(workspace, "fifo"))
	before := tree(t, outside)

	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	var tried atomic.Int64
	paths := make(chan string)
	var trying sync.WaitGroup
	for range 16 { // calls side by side share one write to the disk
		trying.Go(func() {
			for path := range paths {
				tried.Add(int64(tryToEscape(t, s, path)))
			}
		})
	}
	for _, path := range escapes(workspace, outside) {
		paths <- path
	}
	close(paths)
	trying.Wait()
	if diff := cmp.Diff(before, tree(t, outside)); diff != "" {
		t.Errorf("something outside changed:\n%s", diff)
	}
	if data, err := os.ReadFile(filepath.Join(ground, "secret")); err != nil || string(data) != outsideSecret+"\n" {
		t.Errorf("the file beside the workspace is %q, %v", data, err)
	}
	if tried.Load() < 200 {
		t.Errorf("only %d tries", tried.Load())
	}
	t.Logf("%d payloads, %d tries", len(escapes(workspace, outside)), tried.Load())
}

// tryToEscape has every file tool use a path, and returns how many did.
func tryToEscape(t *testing.T, s *session.Session, path string) (tried int) {
	quoted, _ := json.Marshal(path)
	for name, form := range map[string]string{
		"read": `{"path":%s}`, "list": `{"path":%s,"recursive":true}`,
		"grep": `{"path":%s,"pattern":"OUTSIDE|root:"}`, "glob": `{"path":%s,"pattern":"**"}`,
		"write": `{"path":%s,"content":"x"}`, "edit": `{"path":%s,"op":"append","new":"x"}`,
		"move": `{"from":%s,"to":"taken"}`, "delete": `{"path":%s,"recursive":true}`,
		"apply_patch": `{"patch":%s}`, "notebook_edit": `{"path":%s,"cell":1,"mode":"delete"}`,
	} {
		if (name == "delete" || name == "move") && !strings.Contains(path, "secret") {
			continue // the links and folders that later tries need
		}
		tried++
		args := json.RawMessage(fmt.Sprintf(form, quoted))
		if name == "apply_patch" {
			patch, _ := json.Marshal("*** Begin Patch\n*** Add File: " + path + "\n+x\n*** End Patch\n")
			args = json.RawMessage(fmt.Sprintf(form, patch))
		}
		r := s.Call(t.Context(), session.CallRequest{Name: "filesystem." + name, Args: args})
		answer, _ := json.Marshal(r)
		if strings.Contains(string(answer), outsideSecret) || strings.Contains(string(answer), "root:x:0:0") {
			t.Errorf("%s %.80q read what is outside: %.300s", name, path, answer)
		}
		if r.Status == tool.Failure && r.Error.Kind == tool.Timeout {
			t.Errorf("%s %.80q hung", name, path)
		}
	}
	return tried
}
