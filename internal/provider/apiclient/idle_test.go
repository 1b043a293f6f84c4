package apiclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/provider/apiclient"
)

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	aborted := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			_, _ = w.Write([]byte("some"))
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path != "/whole" {
			<-r.Context().Done()
			aborted <- struct{}{}
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: apiclient.WithIdleTimeout(http.DefaultTransport, 300*time.Millisecond)}
	if _, err := client.Get(server.URL + "/never"); !errors.Is(err, apiclient.ErrIdle) {
		t.Errorf("a server that never answers: %v", err)
	}
	<-aborted
	res, err := client.Get(server.URL + "/begun")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(res.Body); string(got) != "some" || !errors.Is(err, apiclient.ErrIdle) {
		t.Errorf("a server that stops: %q, %v", got, err)
	}
	_ = res.Body.Close()
	<-aborted
	res, err = client.Get(server.URL + "/whole")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("a whole response: %v", err)
	}
	_ = res.Body.Close()
}

// roundTripper is a transport without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSteadyStreamIsNotIdle: the timeout counts from the last data, not from the beginning.
func TestSteadyStreamIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so time passes only here
		const timeout, pause = time.Minute, 59 * time.Second
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-time.After(pause)
			in, out := io.Pipe()
			go func() {
				for range 10 {
					select {
					case <-time.After(pause):
						_, _ = io.WriteString(out, "x")
					case <-r.Context().Done():
					}
				}
				<-r.Context().Done()
				_ = out.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: 200, Body: in}, nil
		})
		client := &http.Client{Transport: apiclient.WithIdleTimeout(transport, timeout)}
		begun := time.Now()
		res, err := client.Get("http://host/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(got) != "xxxxxxxxxx" || !errors.Is(err, apiclient.ErrIdle) {
			t.Errorf("read %q, %v", got, err)
		}
		if took, want := time.Since(begun), 11*pause+timeout; took != want {
			t.Errorf("aborted after %v, want %v", took, want)
		}
	})
}
