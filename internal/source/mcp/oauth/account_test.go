package oauth_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/mcp/oauth"
)

// tokenEndpoint answers every request for a token after a while, and counts
// them. Each refresh token is good once.
type tokenEndpoint struct {
	lifetime time.Duration
	renewed  atomic.Int32
}

func (e *tokenEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	<-time.After(time.Second) // synthetic: everybody who needs a token is waiting by then
	n := e.renewed.Add(1)
	body := fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"Bearer","expires_in":%d}`,
		n, n, int(e.lifetime.Seconds()))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// account is a login whose token expires at a moment.
func account(t *testing.T, e *tokenEndpoint, expiry time.Time) *oauth.Account {
	t.Helper()
	a := oauth.NewAccount("far", "k", &oauth.Store{}, &http.Client{Transport: e})
	r := &oauth.Record{Access: "access-0", Refresh: "refresh-0", Expiry: expiry, ClientID: "c", TokenURL: "https://auth.test/token"}
	if err := a.Set(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return a
}

// Many requests that need a token at the same time share one renewal, whether
// the token has expired or a server refused it.
func TestConcurrentRequestsRenewOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		expiry time.Duration
		get    func(*testing.T, *oauth.Account) (string, error)
	}{
		{"expired", -time.Minute, func(t *testing.T, a *oauth.Account) (string, error) { return a.Token(t.Context()) }},
		{"about to expire", 29 * time.Second, func(t *testing.T, a *oauth.Account) (string, error) { return a.Token(t.Context()) }},
		{"refused", time.Hour, func(t *testing.T, a *oauth.Account) (string, error) { return a.Renew(t.Context(), "access-0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &tokenEndpoint{lifetime: time.Hour}
				a := account(t, e, time.Now().Add(c.expiry))
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						if token, err := c.get(t, a); token != "access-1" || err != nil {
							t.Errorf("the token is %q, %v", token, err)
						}
					})
				}
				wg.Wait()
				if n := e.renewed.Load(); n != 1 {
					t.Errorf("renewed %d times", n)
				}
			})
		})
	}
}

// A token is used until shortly before it expires, and renewed then.
func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &tokenEndpoint{lifetime: time.Hour}
		a := account(t, e, time.Now().Add(time.Minute))
		for _, want := range []string{"access-0", "access-0", "access-1"} {
			if token, err := a.Token(t.Context()); token != want || err != nil {
				t.Errorf("the token is %q, %v; want %q", token, err, want)
			}
			<-time.After(20 * time.Second)
		}
	})
}
