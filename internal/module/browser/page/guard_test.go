package page

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/navigation"
	"callgate/internal/module/browser/process"
	"callgate/internal/netguard"
	"callgate/internal/netguard/netguardtest"
	"callgate/tool"
)

type gate struct {
	*netguard.Guard
	*netguard.Proxy
}

func (g *gate) Probe(ctx context.Context, hostport string) error {
	conn, err := g.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return err
	}
	return conn.Close()
}

// start starts a browser for a test.
func start(t testing.TB) (*Browser, string) {
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
	return b, p.Folder()
}

// tab opens a tab of a profile of its own, under the rules.
func tab(t testing.TB, b *Browser, folder string, rules netguard.Rules) *Tab {
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
	p, err := b.NewProfile(t.Context(), Options{Guard: &gate{guard, proxy}, Width: 800, Height: 600, MaxTabs: 4, MaxDownload: 1 << 20, Folder: filepath.Join(folder, strings.ReplaceAll(proxy.Addr(), ":", "-"))})
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

// fetchAll is a page that asks for every address, in several ways.
const fetchAll = `async function (addresses) {
  const late = p => Promise.race([p.catch(() => 0), new Promise(done => setTimeout(done, 5000))]);
  const one = address => new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = address; });
  const frame = document.body.appendChild(document.createElement('iframe'));
  for (let at = 0; at < addresses.length; at += 40) {
    await Promise.all(addresses.slice(at, at + 40).map(a => late((async () => { await fetch(a, {mode: 'no-cors'}); })())));
    await Promise.all(addresses.slice(at, at + 10).map(a => late(one(a))));
    for (const a of addresses.slice(at, at + 40)) try { frame.contentWindow.location = a; } catch { }
  }
  return addresses.length;
}`

// However an address is written, the browser does not get there: not when it
// is told to, not by what a page asks for, and not by a redirect.
func TestAddressForms(t *testing.T) {
	netguardtest.Run(t, func(w *netguardtest.Network) {
		b, folder := start(t)
		open := tab(t, b, folder, netguard.Rules{Resolver: w.Resolver, Private: []string{"0.0.0.0/0", "::/0"}})
		_, _ = open.Navigate(t.Context(), "http://127.0.0.2/", 5*time.Second)
		_, _ = open.Navigate(t.Context(), "http://169.254.169.254:8080/", 5*time.Second)
		if got := strings.Join(w.Reached(), " "); !strings.Contains(got, "127.0.0.2") || !strings.Contains(got, "169.254.169.254") {
			t.Fatalf("without rules only %q was reached: the test proves nothing", got)
		}

		forms := netguardtest.Forms()
		if len(forms) < 300 {
			t.Fatalf("there are only %d forms", len(forms))
		}
		var urls []string
		for _, f := range forms {
			urls = append(urls, f.URL)
		}
		g := tab(t, b, folder, netguard.Rules{Resolver: w.Resolver})
		for i, f := range forms {
			if i%4 > 0 && i < len(forms)-1 {
				continue // a page asks for all of them below
			}
			w.Forget()
			_, _ = g.Navigate(t.Context(), f.URL, time.Second)
			if i%20 == 0 {
				_, _ = g.Navigate(t.Context(), netguardtest.Redirect([]int{301, 302, 303, 307, 308}[i%5], f.URL, i%3), time.Second)
			}
			if i%52 > 0 && i < len(forms)-1 {
				continue
			}
			if reached := private(t, w.Reached()); len(reached) > 0 {
				t.Errorf("up to %s (%q) %v was reached", f.Name, f.URL, reached)
			}
		}
		if _, err := g.Navigate(t.Context(), "http://public.test/", 5*time.Second); err != nil || w.Greeted() == 0 {
			t.Fatalf("the public server was not reached: %v", err)
		}
		f, err := g.content.MainFrame(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(urls)
		var n int
		p := runtime.CallFunctionOnParams{FunctionDeclaration: fetchAll, ExecutionContextID: f.World, ReturnByValue: new(true), AwaitPromise: new(true), Arguments: []*runtime.CallArgument{{Value: raw}}}
		got, err := devtools.Call(t.Context(), g.session, runtime.CallFunctionOn, p)
		if err == nil {
			err = json.Unmarshal(got.Result.Value, &n)
		}
		if err != nil || n != len(urls) {
			t.Fatalf("the page asked for %d: %v", n, err)
		}
		if reached := private(t, w.Reached()); len(reached) > 0 {
			t.Errorf("the page reached %v", reached)
		}
		t.Logf("%d forms, each by fetch, a quarter also as an image and as the address of a tab", len(forms))
	})
}

// private leaves out the addresses that are public: a browser reads 010.0.0.1
// as 8.0.0.1, and may go there.
func private(t testing.TB, addrs []string) []string {
	t.Helper()
	g, err := netguard.New(netguard.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(addrs, func(a string) bool {
		return g.Check(&url.URL{Scheme: "http", Host: net.JoinHostPort(a, "80")}) == nil
	})
}

// A page that crashes leaves the other tabs of its profile alive.
func TestCrashOfOneTab(t *testing.T) {
	b, folder := start(t)
	first := tab(t, b, folder, netguard.Rules{})
	second, err := first.profile.NewTab(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	devtools.Start(first.session, cdpage.Crash, cdp.Empty{})
	if err := first.tracker.Wait(t.Context(), func(*navigation.State) bool { return false }); tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("whoever waits for a page that crashed is told %v", err)
	}
	if _, err := first.Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "crashed") {
		t.Errorf("a tab that crashed could be used: %v", err)
	}
	done, err := second.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := second.Read(t.Context()); err != nil {
		t.Errorf("the other tab: %v", err)
	}
}
