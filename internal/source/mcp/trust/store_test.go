package trust_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"callgate/internal/durable"
	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

// filled is a store's file with something of everything in it.
func filled(t testing.TB) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "trust.json")
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AcceptLaunch(key, []string{"npx", "files"}, "ada"); err != nil {
		t.Fatal(err)
	}
	for _, now := range [][]trust.Definition{defs("add: Adds <b>.", "sub: Subtracts.", "mul: Multiplies."), defs("add: Adds more.", "sub: Subtracts!", "new: New.")} {
		if _, err := s.Review(key, now, trust.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reject(key, "ada", pick(t, s, "sub")...); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestFileOfItsOwnerAlone(t *testing.T) {
	t.Parallel()
	path, _ := filled(t)
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing here")
	}
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Open(path); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a file that others may change: %v", err)
	}
}

// Whatever is not what a store wrote is reported by every call, holds
// everything, and stays as it is.
func TestDamage(t *testing.T) {
	t.Parallel()
	_, whole := filled(t)
	flip := func(old, new string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("the file has no %q:\n%s", old, whole)
		}
		return bytes.Replace(whole, []byte(old), []byte(new), 1)
	}
	for name, data := range map[string][]byte{
		"empty":           {},
		"noughts":         make([]byte, 4096),
		"cut":             whole[:len(whole)/2],
		"cut by a byte":   whole[:len(whole)-3],
		"twice":           append(bytes.Clone(whole), whole...),
		"another JSON":    []byte(`{"a":1}`),
		"null":            []byte(`null`),
		"no servers":      []byte(`{"format":1,"sum":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","servers":null}`),
		"a letter":        flip("Adds more", "Adds morf"),
		"a server's key":  flip("app.yaml#files", "app.yaml#filed"),
		"a format ahead":  flip(`"format": 1`, `"format": 2`),
		"a field ahead":   flip(`"format": 1,`, `"format": 1, "signed": true,`),
		"a spoilt sum":    flip(`"sum": "`, `"sum": "0`),
		"the first_use":   flip(`"first_use": true`, `"first_use": false`),
		"a missing brace": flip(`"servers": {`, `"servers": `),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trust.json")
			s, err := trust.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := trust.Open(path); tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), path) {
				t.Errorf("opening gave %v", err)
			}
			v, err := s.Review(key, defs("add: Adds."), trust.Options{})
			if tool.KindOf(err) != tool.Invalid || brief(v) != "!add unpinned" {
				t.Errorf("a review gave %s, %v", brief(v), err)
			}
			_, pending := s.Pending(key)
			for _, err := range []error{pending, s.MayLaunch(key, []string{"npx", "files"}), s.AcceptLaunch(key, []string{"x"}, "ada"), s.Accept(key, "ada", trust.DefinitionRef{Name: "add"})} {
				if tool.KindOf(err) != tool.Invalid {
					t.Errorf("a call gave %v", err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
				t.Errorf("the damaged file was touched: %v", err)
			}
		})
	}
}

// A review that learns nothing writes nothing.
func TestNothingNewIsNotWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trust.json")
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Review(key, nil, trust.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file was made for nothing: %v", err)
	}
	var before os.FileInfo
	for i := range 3 {
		if _, err := s.Review(key, defs("add: Adds."), trust.Options{}); err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !os.SameFile(before, now) {
			t.Error("the file was replaced by the same")
		}
		before = now
	}
}

// What a crash left half written is neither read nor in the way.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	path, whole := filled(t)
	half, err := durable.New(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(half.Discard) // a crash would only leave the file
	if _, err := half.Write(whole[:100]); err != nil {
		t.Fatal(err)
	}
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AcceptLaunch("another", []string{"x"}, "ada"); err != nil {
		t.Fatal(err)
	}
	servers, err := s.Servers()
	if err != nil || fmt.Sprint(servers) != "[another "+key+"]" {
		t.Errorf("%v, %v", servers, err)
	}
	if _, err := os.Stat(half.Name()); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// Writers in one process, each with a store of its own, lose nothing.
func TestWritersInOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trust.json")
	var all sync.WaitGroup
	const writers, each = 8, 6
	for w := range writers {
		all.Go(func() { writeMany(t, path, fmt.Sprint(w), each) })
	}
	all.Wait()
	expectServers(t, path, writers*each)
}

const childEnv = "CALLGATE_TRUST_TEST_CHILD"

// TestMain lets the test binary be one of several processes that write.
func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		name, path, _ := strings.Cut(child, "=")
		each := 10
		if name == "forever" {
			each = 1 << 20
		}
		if err := writeServers(path, name, each); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeServers keeps the definitions of some servers, one write each.
func writeServers(path, name string, each int) error {
	s, err := trust.Open(path)
	for i := 0; err == nil && i < each; i++ {
		_, err = s.Review(fmt.Sprintf("%s-%d", name, i), defs("add: Adds.", "sub: Subtracts."), trust.Options{})
	}
	return err
}

func writeMany(t testing.TB, path, name string, each int) {
	if err := writeServers(path, name, each); err != nil {
		t.Error(err)
	}
}

func expectServers(t *testing.T, path string, n int) {
	t.Helper()
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := s.Servers()
	if err != nil || len(servers) != n {
		t.Errorf("%d servers are kept of %d: %v", len(servers), n, err)
	}
}

func child(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+name+"="+path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestWritersInManyProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trust.json")
	var children []*exec.Cmd
	for i := range 3 {
		children = append(children, child(t, fmt.Sprint("child", i), path))
	}
	writeMany(t, path, "parent", 10)
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	expectServers(t, path, 40)
}

// A writer that is killed leaves a whole file, with all that it had kept, and
// no lock.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trust.json")
	s, err := trust.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		before, _ := s.Servers()
		cmd := child(t, "forever", path)
		for seen := before; len(seen) < len(before)+8+round; {
			if seen, err = s.Servers(); err != nil {
				t.Fatal(err)
			}
		}
		seen, _ := s.Servers()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		after, err := s.Servers()
		if err != nil || len(after) < len(seen) {
			t.Fatalf("%d servers after the kill, %d before: %v", len(after), len(seen), err)
		}
		if err := s.AcceptLaunch(fmt.Sprint("survivor", round), []string{"x"}, "ada"); err != nil {
			t.Fatal(err)
		}
		expectServers(t, path, len(after)+1)
	}
}

// The loader is given files, and books in a file that is otherwise whole.
func FuzzLoad(f *testing.F) {
	_, whole := filled(f)
	var file struct{ Servers json.RawMessage }
	if err := json.Unmarshal(whole, &file); err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(bytes.Replace(whole, []byte("add"), []byte("adx"), 1), false)
	f.Add([]byte(file.Servers), true)
	f.Add(bytes.Replace(file.Servers, []byte("Adds more"), []byte("Adds less"), 1), true)
	f.Add([]byte(`{"a":null}`), true)
	f.Add([]byte(`{"a":{"tools":{"t":null}}}`), true)
	f.Add([]byte(`{"a":{},"a":{}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, book bool) {
		if book {
			var compact bytes.Buffer
			if json.Compact(&compact, data) != nil {
				return
			}
			data = fmt.Appendf(nil, `{"format":1,"sum":"%x","servers":%s}`, sha256.Sum256(compact.Bytes()), data)
		}
		path := filepath.Join(t.TempDir(), "trust.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := trust.Open(path)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		before, err := s.Servers()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AcceptLaunch("fuzz", []string{"x"}, "ada"); err != nil {
			t.Fatal(err)
		}
		after, err := s.Servers()
		if err != nil || len(after) < len(before) || len(after) > len(before)+1 {
			t.Errorf("%q became %q, %v", before, after, err)
		}
		for _, server := range before {
			if _, err := s.Review(server, defs("add: Adds."), trust.Options{}); err != nil {
				t.Errorf("a review of %q: %v", server, err)
			}
		}
	})
}

// The usual case: nothing changed since the last time.
func BenchmarkReviewUnchanged(b *testing.B) {
	s := open(b)
	var now []trust.Definition
	for i := range 50 {
		now = append(now, def(fmt.Sprintf("tool%d: %s", i, strings.Repeat("Does one thing and says so. ", 8))))
	}
	for i := range 20 {
		if _, err := s.Review(fmt.Sprint("server", i), now, trust.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Review("server7", now, trust.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
