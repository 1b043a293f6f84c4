package netguard_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"callgate/internal/netguard"
	"callgate/internal/netguard/netguardtest"
	"callgate/tool"
)

// fetch returns the content of a URL.
func fetch(client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// plain returns a client without a guard, in the same network.
func plain(w *netguardtest.Network) *http.Client {
	dialer := net.Dialer{Resolver: w.Resolver, Timeout: time.Second}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		Timeout: 2 * time.Second}
}

func guarded(t *testing.T, w *netguardtest.Network, r netguard.Rules) *netguard.Guard {
	t.Helper()
	r.Resolver = w.Resolver
	g, err := netguard.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Without a guard the network is open. Otherwise the other tests would prove
// nothing.
func TestCanaryIsReachedWithoutAGuard(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		client := plain(w)
		reached := 0
		forms := netguardtest.Forms()
		for _, f := range forms {
			_, _ = fetch(client, f.URL)
			if len(w.Reached()) > 0 {
				reached++
			}
		}
		t.Logf("%d of %d forms reach the canary without a guard", reached, len(forms))
		if reached < 300 {
			t.Errorf("only %d forms reach it", reached)
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			_, _ = fetch(client, netguardtest.Redirect(status, "http://169.254.169.254/", 2))
			if got := w.Reached(); len(got) != 1 {
				t.Errorf("a redirect by %d reached %v", status, got)
			}
		}
	})
}

func TestNoFormReachesTheCanary(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		g := guarded(t, w, netguard.Rules{})
		client := g.Client(10)
		forms := netguardtest.Forms()
		w.Greeted()
		for _, f := range forms {
			body, err := fetch(client, f.URL)
			if strings.Contains(f.URL, "rebind") && err == nil {
				continue // it was public when it was checked and dialled
			}
			if err == nil {
				t.Errorf("%s: %q gave %q", f.Name, f.URL, body)
			}
			if got := w.Reached(); len(got) > 0 {
				t.Errorf("%s: %q reached %v", f.Name, f.URL, got)
			}
		}
		if n := w.Greeted(); n != 12 {
			t.Errorf("%d rebinding names were public when they were checked, want 12", n)
		}
		// Idle connections would hide that a name has changed.
		for range 3 {
			client.CloseIdleConnections()
			for i := range 12 {
				_, _ = fetch(client, fmt.Sprintf("http://rebind%d.test/", i))
			}
		}
		if got := w.Reached(); len(got) > 0 {
			t.Errorf("rebinding names reached %v", got)
		}
		if body, err := fetch(client, "http://public.test/"); err != nil || !strings.Contains(body, netguardtest.Words) {
			t.Errorf("the public server gave %q, %v", body, err)
		}
		t.Logf("none of %d forms reached the canary", len(forms))
	})
}

func TestNoRedirectReachesTheCanary(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		client := guarded(t, w, netguard.Rules{}).Client(10)
		tried := 0
		try := func(url string) {
			tried++
			w.Forget()
			_, _ = fetch(client, url)
			if got := w.Reached(); len(got) > 0 {
				t.Errorf("%s reached %v", url, got)
			}
		}
		for i, f := range netguardtest.Forms() {
			status := []int{301, 302, 303, 307, 308}[i%5]
			try(netguardtest.Redirect(status, f.URL, i%4))
		}
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range []string{"//127.0.0.1/", "//2130706433/", "//[::1]:8080/", "//loop.test", "http://0x7f.1/",
				"http://rebind1.test/", "\\\\127.0.0.1/", "http:\\\\127.0.0.1"} {
				for hops := range 5 {
					try(netguardtest.Redirect(status, to, hops))
				}
			}
		}
		try("http://public.test/meta?to=" + url.QueryEscape("http://127.0.0.1/"))
		if w.Greeted() == 0 {
			t.Error("the public server was never asked")
		}
		t.Logf("none of %d redirects reached the canary", tried)
	})
}

func TestNothingReachesTheCanaryThroughTheProxy(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		proxy, err := guarded(t, w, netguard.Rules{}).Proxy(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		tried := 0
		for _, f := range netguardtest.Forms() {
			rest, ok := strings.CutPrefix(f.URL, "http://")
			if !ok {
				continue
			}
			authority, _, _ := strings.Cut(rest, "/")
			for _, line := range []string{
				"CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority,
				"CONNECT " + authority + ":80 HTTP/1.1\r\nHost: public.test:80",
				"GET " + f.URL + " HTTP/1.1\r\nHost: public.test",
				"GET " + f.URL + " HTTP/1.1\r\nHost: public.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
			} {
				tried++
				w.Forget()
				_ = throughProxy(t, proxy, line)
			}
			if got := w.Reached(); len(got) > 0 {
				t.Errorf("%s: %q reached %v", f.Name, f.URL, got)
			}
		}
		if status := throughProxy(t, proxy, "CONNECT public.test:80 HTTP/1.1\r\nHost: public.test:80"); status != http.StatusOK {
			t.Errorf("a tunnel to the public server: %d", status)
		}
		if status := throughProxy(t, proxy, "GET http://public.test/ HTTP/1.1\r\nHost: public.test"); status != http.StatusOK {
			t.Errorf("a request to the public server: %d", status)
		}
		t.Logf("none of %d requests reached the canary", tried)
	})
}

// throughProxy sends a request as it is and returns the status, 0 for none.
func throughProxy(t *testing.T, p *netguard.Proxy, head string) int {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	user, password := p.Credential()
	fmt.Fprintf(conn, "%s\r\nProxy-Authorization: Basic %s\r\n\r\n", head,
		base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// Hosts that an app lists are reached, and no others.
func TestListedHostsAreReached(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		for _, c := range []struct {
			listed, url string
			ok          bool
		}{
			{"127.0.0.1", "http://127.0.0.1/", true},
			{"127.0.0.1", "http://127.0.0.2/", false},
			{"127.0.0.1", "http://[::ffff:127.0.0.1]/", true},
			{"127.0.0.1", "http://2130706433/", false},
			{"127.0.0.1", "http://localhost/", true},
			{"127.0.0.1:8080", "http://127.0.0.1/", false},
			{"127.0.0.1:8080", "http://127.0.0.1:8080/", true},
			{"10.0.0.0/8", "http://private.test/", true},
			{"10.0.0.0/8", "http://192.168.0.1/", false},
			{"localhost", "http://localhost/", true},
			{"localhost", "http://127.0.0.1/", false},
			{"loop.test", "http://loop.test/", true},
			{"*.test", "http://loop.test/", true},
			{"*.test", "http://link.test/", false}, // a name does not open a metadata service
			{"169.254.169.254", "http://link.test/", true},
			{"169.254.0.0/16", "http://169.254.169.254/", true},
			{"*", "http://10.0.0.1/", true},
			{"*", "http://169.254.169.254/", false},
			{"[::1]:8080", "http://[::1]:8080/", true},
			{"fd00::/8", "http://unique.test/", true},
		} {
			_, err := fetch(guarded(t, w, netguard.Rules{Private: []string{c.listed}}).Client(3), c.url)
			if (err == nil) != c.ok || err != nil && tool.KindOf(err) != tool.Denied {
				t.Errorf("with %s listed, %s: %v", c.listed, c.url, err)
			}
		}
	})
}
