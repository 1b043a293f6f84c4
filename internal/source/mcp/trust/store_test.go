package trust_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/document"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// fill makes a store with something of everything in it.
func fill(t testing.TB, s *trust.Store) {
	t.Helper()
	if err := s.AcceptLaunch(key, []string{"npx", "files"}, "ada"); err != nil {
		t.Fatal(err)
	}
	for _, now := range [][]trust.Definition{
		defs("add: Adds <b>.", "sub: Subtracts.", "mul: Multiplies."), defs("add: Adds more.", "sub: Subtracts!", "new: New."),
	} {
		if _, err := s.Review(key, now, trust.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reject(key, "ada", pick(t, s, "sub")...); err != nil {
		t.Fatal(err)
	}
}

// stored returns the document of a server.
func stored(t testing.TB, docs document.Store, server string) document.Document {
	t.Helper()
	doc, err := docs.Get(t.Context(), "trust", server)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// overwrite puts data into the document of a server.
func overwrite(t testing.TB, docs document.Store, server string, data []byte) {
	t.Helper()
	now, err := docs.Get(t.Context(), "trust", server)
	if err != nil && tool.KindOf(err) != tool.NotFound {
		t.Fatal(err)
	}
	change := document.Change{Collection: "trust", Key: server, If: now.Version, Data: data}
	if _, err := docs.Write(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// A document that no store wrote is reported by every call about its server,
// holds everything, and stays as it is. Other servers are not affected.
func TestDamage(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t, t.TempDir())
	fill(t, trust.NewStore(docs))
	whole := stored(t, docs, key).Data
	flip := func(old, new string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("the document has no %q:\n%s", old, whole)
		}
		return bytes.Replace(whole, []byte(old), []byte(new), 1)
	}
	if err := trust.NewStore(docs).AcceptLaunch("another", []string{"npx", "files"}, "ada"); err != nil {
		t.Fatal(err)
	}
	other := stored(t, docs, "another").Data
	for name, data := range map[string][]byte{
		"empty":           {},
		"noughts":         make([]byte, 4096),
		"cut":             whole[:len(whole)/2],
		"cut by a byte":   whole[:len(whole)-1],
		"twice":           append(bytes.Clone(whole), whole...),
		"a space":         append(bytes.Clone(whole), ' '),
		"another JSON":    []byte(`{"a":1}`),
		"null":            []byte(`null`),
		"no server":       []byte(`{"format":1,"sum":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b","server":null}`),
		"another server":  other,
		"a letter":        flip("Adds more", "Adds morf"),
		"a format ahead":  flip(`"format":1`, `"format":2`),
		"a field ahead":   flip(`"format":1,`, `"format":1,"signed":true,`),
		"a spoilt sum":    flip(`"sum":"`, `"sum":"0`),
		"the first_use":   flip(`"first_use":true`, `"first_use":false`),
		"a missing brace": flip(`"server":{`, `"server":`),
	} {
		t.Run(name, func(t *testing.T) {
			docs := openDocuments(t, t.TempDir())
			overwrite(t, docs, key, data)
			s := trust.NewStore(docs)
			v, err := s.Review(key, defs("add: Adds."), trust.Options{})
			if tool.KindOf(err) != tool.Invalid || brief(v) != "!add unpinned" || !strings.Contains(err.Error(), key) {
				t.Errorf("a review gave %s, %v", brief(v), err)
			}
			_, pending := s.Pending(key)
			_, accepted := s.Accepted(key)
			_, unreviewed := s.Unreviewed(key)
			for _, err := range []error{
				pending, accepted, unreviewed, s.MayLaunch(key, []string{"npx", "files"}),
				s.AcceptLaunch(key, []string{"x"}, "ada"), s.Accept(key, "ada", trust.DefinitionRef{Name: "add"}),
			} {
				if tool.KindOf(err) != tool.Invalid {
					t.Errorf("a call gave %v", err)
				}
			}
			if now := stored(t, docs, key).Data; !bytes.Equal(now, data) {
				t.Errorf("the damaged document was touched: %s", now)
			}
			if v, err := s.Review("another", defs("add: Adds."), trust.Options{}); err != nil || brief(v) != "+add" {
				t.Errorf("another server: %s, %v", brief(v), err)
			}
		})
	}
}

// A review that learns nothing writes nothing.
func TestNothingNewIsNotWritten(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t, t.TempDir())
	s := trust.NewStore(docs)
	if _, err := s.Review(key, nil, trust.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Get(t.Context(), "trust", key); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a document was made for nothing: %v", err)
	}
	before := int64(0)
	for i := range 3 {
		if _, err := s.Review(key, defs("add: Adds."), trust.Options{}); err != nil {
			t.Fatal(err)
		}
		now := stored(t, docs, key).Version
		if i > 0 && now != before {
			t.Error("the document was replaced by the same")
		}
		before = now
	}
}

// counted counts what reaches the documents.
type counted struct {
	document.Store
	gets, writes atomic.Int64
}

func (c *counted) Get(ctx context.Context, collection, key string) (document.Document, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, collection, key)
}

func (c *counted) Write(ctx context.Context, changes ...document.Change) (int64, error) {
	c.writes.Add(1)
	return c.Store.Write(ctx, changes...)
}

// Checks are answered from memory, also those for a server that nobody knows.
// What this store changes is seen at once, and what another one changes within
// a second.
func TestChecksDoNotTouchTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := &counted{Store: openDocuments(t, t.TempDir())}
		s, other := trust.NewStore(docs), trust.NewStore(docs.Store)
		line, changed := []string{"npx", "files"}, []string{"npx", "others"}
		may := func(line []string, want tool.Kind) {
			t.Helper()
			for range 1000 {
				if err := s.MayLaunch(key, line); tool.KindOf(err) != want {
					t.Fatalf("%v, want kind %q", err, want)
				}
			}
		}
		may(line, tool.Denied)
		if err := s.AcceptLaunch(key, line, "ada"); err != nil {
			t.Fatal(err)
		}
		may(line, "")
		if err := other.AcceptLaunch(key, changed, "ada"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		may(changed, "")
		may(line, tool.Denied)
		if gets := docs.gets.Load(); gets > 4 {
			t.Errorf("the documents were asked %d times", gets)
		}
	})
}

// Two kernels that decide on one server at the same time lose nothing: what
// each reviews and accepts is in the end there, whoever was faster.
func TestTwoKernels(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const kernels, each = 4, 8
	var all sync.WaitGroup
	for k := range kernels {
		s := trust.NewStore(openDocuments(t, folder))
		all.Go(func() {
			for i := range each {
				if err := s.AcceptLaunch(key, []string{fmt.Sprint(k, i)}, "ada"); err != nil {
					t.Error(err)
				}
				server := fmt.Sprint("server ", i)
				if _, err := s.Review(server, defs("add: Adds.", "sub: Subtracts."), trust.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s := trust.NewStore(openDocuments(t, folder))
	servers, err := s.Servers()
	if err != nil || len(servers) != each+1 {
		t.Errorf("%q, %v", servers, err)
	}
	for i := range each {
		if pins, err := s.Accepted(fmt.Sprint("server ", i)); err != nil || len(pins) != 2 {
			t.Errorf("server %d has %v, %v", i, pins, err)
		}
	}
}

// slow lets another writer change the document before the first write.
type slow struct {
	document.Store
	first func()
}

func (s *slow) Write(ctx context.Context, changes ...document.Change) (int64, error) {
	if do := s.first; do != nil {
		s.first = nil
		do()
	}
	return s.Store.Write(ctx, changes...)
}

// A human's rejection that another kernel takes while this one reviews is kept,
// and the review obeys it.
func TestReviewMeetsARejection(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t, t.TempDir())
	other := trust.NewStore(docs)
	if _, err := other.Review(key, defs("add: Adds.", "sub: Subtracts."), trust.Options{}); err != nil {
		t.Fatal(err)
	}
	between := &slow{Store: docs, first: func() {
		if err := other.Reject(key, "ada", unseen(t, other, "add")...); err != nil {
			t.Error(err)
		}
	}}
	v, err := trust.NewStore(between).Review(key, defs("add: Adds.", "mul: Multiplies."), trust.Options{})
	if want := "!add unpinned rejected by ada, !mul new, -sub"; err != nil || brief(v) != want {
		t.Errorf("%s, %v; want %s", brief(v), err, want)
	}
}

// broken fails.
type broken struct{ document.Store }

func (broken) Get(context.Context, string, string) (document.Document, error) {
	return document.Document{}, tool.Errorf("test", tool.Internal, "no")
}

func TestStoreFails(t *testing.T) {
	t.Parallel()
	s := trust.NewStore(broken{})
	v, err := s.Review(key, defs("add: Adds."), trust.Options{})
	if tool.KindOf(err) != tool.Unavailable || brief(v) != "!add unpinned" {
		t.Errorf("a review gave %s, %v", brief(v), err)
	}
	if err := s.MayLaunch(key, []string{"x"}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a check gave %v", err)
	}
	if err := s.AcceptLaunch(key, []string{"x"}, "ada"); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("accepting gave %v", err)
	}
}

// Writers in one process, each with a store of its own, lose nothing.
func TestWritersInOneProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var all sync.WaitGroup
	const writers, each = 8, 6
	for w := range writers {
		all.Go(func() { writeMany(t, folder, fmt.Sprint(w), each) })
	}
	all.Wait()
	expectServers(t, folder, writers*each)
}

const childEnv = "CALLGATE_TRUST_TEST_CHILD"

// TestMain lets the test binary be one of several processes that write.
func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		name, folder, _ := strings.Cut(child, "=")
		each := 10
		if name == "forever" {
			each = 1 << 20
		}
		if err := writeServers(folder, name, each); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeServers keeps the definitions of some servers, one write each.
func writeServers(folder, name string, each int) error {
	db, err := sqlite.Open(context.Background(), filepath.Join(folder, "state.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	s := trust.NewStore(db.Stores().Documents)
	for i := 0; err == nil && i < each; i++ {
		_, err = s.Review(fmt.Sprintf("%s-%d", name, i), defs("add: Adds.", "sub: Subtracts."), trust.Options{})
	}
	return err
}

func writeMany(t testing.TB, folder, name string, each int) {
	if err := writeServers(folder, name, each); err != nil {
		t.Error(err)
	}
}

func expectServers(t *testing.T, folder string, n int) {
	t.Helper()
	servers, err := trust.NewStore(openDocuments(t, folder)).Servers()
	if err != nil || len(servers) != n {
		t.Errorf("%d servers are kept of %d: %v", len(servers), n, err)
	}
}

func child(t *testing.T, name, folder string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+name+"="+folder)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestWritersInManyProcesses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var children []*exec.Cmd
	for i := range 3 {
		children = append(children, child(t, fmt.Sprint("child", i), folder))
	}
	writeMany(t, folder, "parent", 10)
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	expectServers(t, folder, 40)
}

// A writer that is killed leaves all that it had kept, and no lock.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := trust.NewStore(openDocuments(t, folder))
	for round := range 3 {
		before, err := s.Servers()
		if err != nil {
			t.Fatal(err)
		}
		cmd := child(t, "forever", folder)
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
		expectServers(t, folder, len(after)+1)
	}
}
