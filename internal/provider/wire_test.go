package provider_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"callgate/internal/provider"
)

// TestProxyFromTheEnvironment runs again as a process of its own, because net/http reads the variables once.
func TestProxyFromTheEnvironment(t *testing.T) {
	const child = "CALLGATE_TEST_PROXY_CHILD"
	if os.Getenv(child) != "" {
		eachDialect(t, func(t *testing.T, d dialect) {
			m, _, err := provider.New(provider.Config{
				Provider: d.provider, Model: d.model, Key: secretKey, BaseURL: "http://" + d.name + ".invalid/v1", Env: env(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if res, _, err := generate(t.Context(), m); err != nil || res.Message.Text() != "Hello there" {
				t.Errorf("response %+v, %v", res, err)
			}
		})
		return
	}
	t.Parallel()
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.RequestURI
		for _, d := range dialects {
			if strings.HasPrefix(r.Host, d.name) {
				stream(d.events(d.hello...))(w, r)
			}
		}
	}))
	defer proxy.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyFromTheEnvironment$")
	cmd.Env = append(os.Environ(), child+"=1", "HTTP_PROXY="+proxy.URL, "http_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range dialects {
		if got, want := <-asked, "http://"+d.name+".invalid"+d.path; got != want {
			t.Errorf("asked the proxy for %s, want %s", got, want)
		}
	}
}

// TestHeadersOfTheConfiguration: an app's own headers win over everything that the adapters send.
func TestHeadersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(d.events(d.hello...)))
		own := map[string]string{
			"authorization": "Own 1", "x-api-key": "own-2", "anthropic-version": "own-3", "anthropic-beta": "own-4",
			"User-Agent": "own/5",
		}
		if _, _, err := generate(t.Context(), d.with(t, s, provider.Config{Headers: own})); err != nil {
			t.Fatal(err)
		}
		for name, value := range own {
			if got := s.headers[0].Values(name); len(got) != 1 || got[0] != value {
				t.Errorf("header %s is %q, want %q", name, got, value)
			}
		}
	})
}

// TestNoHeadersOfAnSDK: a request says that it comes from Callgate, and nothing about the machine.
func TestNoHeadersOfAnSDK(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d dialect) {
		s := serve(t, stream(d.events(d.hello...)))
		if _, _, err := generate(t.Context(), d.once(t, s)); err != nil {
			t.Fatal(err)
		}
		if got := s.headers[0].Get("User-Agent"); got != "callgate" {
			t.Errorf("the user agent is %q", got)
		}
		for name := range s.headers[0] {
			if strings.HasPrefix(name, "X-Stainless") {
				t.Errorf("header %s is sent", name)
			}
		}
	})
}
