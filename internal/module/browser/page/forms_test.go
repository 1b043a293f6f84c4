package page

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/netguard"
	"callgate/internal/netguard/netguardtest"
)

// parseAll returns how the browser writes each address, or "" where it cannot read it.
// It requests what it writes, so two forms of one address are one request.
const parseAll = `function (addresses) { return addresses.map(a => URL.canParse(a) ? new URL(a).href : ''); }`

// requestAll requests every address from a page: all by fetch, a quarter as images, some as
// documents of frames; and those that redirect there, a third by fetch and some as
// documents of frames.
const requestAll = `async function ([addresses, redirects]) {
  const limited = p => Promise.race([p.catch(() => 0), new Promise(done => setTimeout(done, 5000))]);
  const loaded = (tag, address) => new Promise(done => {
    const el = document.createElement(tag);
    el.onload = el.onerror = () => { el.remove(); done(); };
    el.src = address;
    document.body.append(el);
  });
  const each = (list, step, from, run) => list.filter((_, i) => i % step === from).map(a => () => limited(run(a)));
  const page = a => loaded('iframe', a), image = a => loaded('img', a), data = a => fetch(a, {mode: 'no-cors'});
  const tasks = [
    ...each(addresses, 30, 0, page), ...each(redirects, 30, 15, page),
    ...each(addresses, 1, 0, data), ...each(redirects, 3, 0, data), ...each(addresses, 4, 0, image),
  ];
  await Promise.all(Array.from({length: 50}, async () => { while (tasks.length) await tasks.shift()(); }));
  return addresses.length;
}`

// evaluate calls a function in a tab with one argument.
func evaluate[R any](t testing.TB, tab *Tab, function string, argument any) (result R) {
	t.Helper()
	f, err := tab.content.MainFrame(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(argument)
	if err != nil {
		t.Fatal(err)
	}
	got, err := devtools.Call(t.Context(), tab.session, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: function, ExecutionContextID: f.World, ReturnByValue: new(true), AwaitPromise: new(true),
		Arguments: []*runtime.CallArgument{{Value: raw}},
	})
	if err == nil {
		err = json.Unmarshal(got.Result.Value, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// However an address is written, the browser does not get there: not when it is told
// to, not by what a page requests, and not by a redirect.
func TestAddressForms(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		b, started := startBrowser(t)
		control := openTab(t, b, started, netguard.Rules{Resolver: w.Resolver, Private: []string{"0.0.0.0/0", "::/0"}})
		for _, address := range []string{"http://127.0.0.2/", "http://169.254.169.254:8080/"} {
			_, _ = control.Navigate(t.Context(), address, 5*time.Second)
		}
		got := strings.Join(w.Reached(), " ")
		if !strings.Contains(got, "127.0.0.2") || !strings.Contains(got, "169.254.169.254") {
			t.Fatalf("without rules only %q was reached: the test proves nothing", got)
		}

		guarded := openTab(t, b, started, netguard.Rules{Resolver: w.Resolver})
		if _, err := guarded.Navigate(t.Context(), "http://public.test/", 5*time.Second); err != nil || w.Greeted() == 0 {
			t.Fatalf("the public server was not reached: %v", err)
		}
		forms := netguardtest.Forms()
		urls := make([]string, len(forms))
		for i, f := range forms {
			urls[i] = f.URL
		}
		parsed := evaluate[[]string](t, guarded, parseAll, urls)
		requests := slices.Compact(slices.Sorted(slices.Values(parsed)))
		requests = slices.DeleteFunc(requests, func(address string) bool { return address == "" })
		if len(forms) < 1500 || len(requests) < 300 {
			t.Fatalf("%d forms are only %d requests", len(forms), len(requests))
		}

		var redirects []string
		for i, address := range requests {
			redirects = append(redirects, netguardtest.Redirect([]int{301, 302, 303, 307, 308}[i%5], address, i%3))
		}
		var addresses []string
		for i, address := range urls {
			if i%4 == 0 || i == len(urls)-1 {
				addresses = append(addresses, address)
			}
		}
		for i, address := range redirects {
			if i%40 == 0 {
				addresses = append(addresses, address)
			}
		}
		openAll(t, w, guarded, addresses)
		if reached := private(t, w.Reached()); len(reached) > 0 {
			t.Errorf("as the address of a tab, or by a redirect, %v was reached", reached)
		}
		if _, err := guarded.Navigate(t.Context(), "http://public.test/", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if n := evaluate[int](t, guarded, requestAll, [][]string{requests, redirects}); n != len(requests) {
			t.Errorf("the page requested %d of %d", n, len(requests))
		}
		if reached := private(t, w.Reached()); len(reached) > 0 {
			t.Errorf("by a page's requests %v was reached", reached)
		}
		t.Logf("%d forms, which are %d requests", len(forms), len(requests))
	})
}

// openAll opens the addresses in several tabs at once.
func openAll(t *testing.T, w *netguardtest.Network, first *Tab, addresses []string) {
	t.Helper()
	tabs := []*Tab{first}
	for range 3 {
		next, err := first.profile.NewTab(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tabs = append(tabs, next)
	}
	next := make(chan string)
	var wg sync.WaitGroup
	for _, tab := range tabs {
		wg.Go(func() {
			for address := range next {
				_, _ = tab.Navigate(t.Context(), address, time.Second)
			}
		})
	}
	for i, address := range addresses {
		if i%10 == 0 {
			w.Forget() // so that names change their address again
		}
		next <- address
	}
	close(next)
	wg.Wait()
}

// private leaves out the addresses that are public: a browser reads 010.0.0.1 as
// 8.0.0.1, and may go there.
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
