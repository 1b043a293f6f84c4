package pool_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/pool"
	"callgate/internal/module/browser/process"
	"callgate/internal/programtest"
	"callgate/tool"
)

// brokenBrowser is an executable that notes that it was started and exits. It needs to
// run without a sandbox, which would keep it from its log.
func brokenBrowser(t testing.TB) (executable string, starts func() int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	executable, log := filepath.Join(dir, "browser"), filepath.Join(dir, "log")
	script := "#!/bin/sh\necho started >> '" + log + "'\necho 'out of luck' >&2\nexit 1\n"
	programtest.Write(t, executable, script)
	return executable, func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "started")
	}
}

// All sessions that want a browser learn why it did not start, and the next call tries
// again.
func TestBrowserThatDoesNotStart(t *testing.T) {
	executable, starts := brokenBrowser(t)
	p := pool.New(nil)
	var wg sync.WaitGroup
	for _, id := range []string{"a", "a", "b"} {
		wg.Go(func() {
			_, err := p.Acquire(t.Context(), id, pool.Options{Executable: executable, Unsandboxed: true})
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "out of luck") {
				t.Errorf("the session %s: %v", id, err)
			}
		})
	}
	wg.Wait()
	before := starts()
	if before == 0 || before > 3 {
		t.Errorf("the browser was started %d times", before)
	}
	if _, err := p.Acquire(t.Context(), "a", pool.Options{Executable: executable, Unsandboxed: true}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the next call: %v", err)
	}
	if starts() != before+1 {
		t.Errorf("the next call started the browser %d times", starts()-before)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestCancelledCall(t *testing.T) {
	executable, _ := brokenBrowser(t)
	p := pool.New(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Acquire(ctx, "a", pool.Options{Executable: executable, Unsandboxed: true}); err == nil {
		t.Error("a cancelled call got a profile")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosedPool(t *testing.T) {
	p := pool.New(nil)
	p.EndSession("unknown")
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Acquire(t.Context(), "a", pool.Options{}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed pool: %v", err)
	}
}

// A session keeps its profile from call to call, and gets a new one after its end. The end
// of the session waits for its calls.
func TestProfileOfASession(t *testing.T) {
	t.Parallel()
	if _, err := process.Find(""); err != nil {
		t.Skipf("%v", err)
	}
	p := pool.New(nil)
	options := pool.Options{Profile: page.Options{MaxTabs: 2}}
	acquire := func(id string) *pool.Lease {
		t.Helper()
		lease, err := p.Acquire(t.Context(), id, options)
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	first, second, other := acquire("a"), acquire("a"), acquire("b")
	if first.Profile != second.Profile || first.Profile == other.Profile {
		t.Error("the calls of a session have its profile, and another session has another")
	}
	if len(second.Warnings) > 0 {
		t.Errorf("the second call got the warnings %q too", second.Warnings)
	}
	p.EndSession("a")
	again := acquire("a")
	if again.Profile == first.Profile {
		t.Error("a session that ended kept its profile")
	}
	for _, lease := range []*pool.Lease{first, second, other, again} {
		lease.Release()
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
