package page

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/navigation"
	"callgate/internal/module/browser/process"
	"callgate/internal/netguard"
	"callgate/tool"
)

// proxyGuard is the guard of a profile, and its proxy.
type proxyGuard struct {
	*netguard.Guard
	*netguard.Proxy
	addr string // at which the browser reaches it
}

func (g *proxyGuard) Addr() string { return g.addr }

func (g *proxyGuard) Probe(ctx context.Context, hostport string) error {
	conn, err := g.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return err
	}
	return conn.Close()
}

// startBrowser starts a browser for a test.
func startBrowser(t testing.TB) (*Browser, *process.Process) {
	t.Helper()
	if _, err := process.Find(""); err != nil {
		t.Skipf("%v", err)
	}
	p, err := process.Start(process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := Open(ctx, p.Pipe(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(p.Failed(err))
	}
	t.Cleanup(b.Close)
	return b, p
}

// openTab opens a tab in a new profile with the given rules.
func openTab(t testing.TB, b *Browser, started *process.Process, rules netguard.Rules) *Tab {
	t.Helper()
	guard, err := netguard.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := guard.Proxy(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	addr, leave := started.Reach(proxy.Addr())
	t.Cleanup(leave)
	p, err := b.NewProfile(t.Context(), Options{
		Guard: &proxyGuard{guard, proxy, addr}, Width: 800, Height: 600, MaxTabs: 4, MaxDownload: 1 << 20,
		Folder: filepath.Join(started.Folder(), strings.ReplaceAll(proxy.Addr(), ":", "-")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	made, err := p.NewTab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A page that crashes leaves the other tabs of its profile usable.
func TestCrashOfOneTab(t *testing.T) {
	t.Parallel()
	b, started := startBrowser(t)
	first := openTab(t, b, started, netguard.Rules{})
	second, err := first.profile.NewTab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	devtools.Start(first.session, cdpage.Crash, cdp.Empty{})
	err = first.tracker.Wait(t.Context(), func(*navigation.State) bool { return false })
	if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("a wait for a page that crashed ended with %v", err)
	}
	if _, err := first.Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("a tab that crashed could be used: %v", err)
	}
	release, err := second.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := second.Read(t.Context()); err != nil {
		t.Errorf("the other tab: %v", err)
	}
}
