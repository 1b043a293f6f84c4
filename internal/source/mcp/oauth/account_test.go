package oauth_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"callgate/internal/source/mcp/oauth"
	"callgate/tool"
)

// TestMain keeps the tests away from the keyring of the user who runs them.
func TestMain(m *testing.M) {
	if err := os.Setenv("CALLGATE_KEYRING", "off"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// tokenEndpoint answers every request for a token after a while, and counts
// them. Each refresh token is good once.
type tokenEndpoint struct {
	lifetime time.Duration
	status   int    // of its answers; 0: the tokens are good
	during   func() // is called while a request is answered
	renewed  atomic.Int32
}

func (e *tokenEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	<-time.After(time.Second) // synthetic: everybody who needs a token is waiting by then
	n := e.renewed.Add(1)
	if e.during != nil {
		e.during()
	}
	body := fmt.Sprintf(`{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"Bearer","expires_in":%d}`,
		n, n, int(e.lifetime.Seconds()))
	return &http.Response{
		StatusCode: cmp.Or(e.status, http.StatusOK), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// account is a login whose token expires at a moment.
func account(t *testing.T, s oauth.Store, e *tokenEndpoint, expiry time.Time) *oauth.Account {
	t.Helper()
	a := oauth.NewAccount("far", "k", s, &http.Client{Transport: e})
	r := &oauth.Record{
		Access: "access-0", Refresh: "refresh-0", Expiry: expiry,
		ClientID: "c", TokenURL: "https://auth.test/token", AuthStyle: oauth2.AuthStyleInParams,
	}
	if err := a.Set(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return a
}

// Many requests that need a token at the same time share one renewal, whether
// the token has expired or a server refused it, and whether they are in one
// kernel or in several.
func TestConcurrentRequestsRenewOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kernels int
		expiry  time.Duration
		get     func(*testing.T, *oauth.Account) (string, error)
	}{
		{"expired", 1, -time.Minute, token},
		{"about to expire", 1, 29 * time.Second, token},
		{"refused", 1, time.Hour, refused},
		{"expired in several kernels", 4, -time.Minute, token},
		{"refused in several kernels", 4, time.Hour, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &tokenEndpoint{lifetime: time.Hour}
				folder := t.TempDir()
				first := account(t, openStore(t, folder), e, time.Now().Add(c.expiry))
				accounts := []*oauth.Account{first}
				for len(accounts) < c.kernels {
					accounts = append(accounts, oauth.NewAccount("far", "k", openStore(t, folder), first.Client))
				}
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						if token, err := c.get(t, accounts[i%len(accounts)]); token != "access-1" || err != nil {
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

func token(t *testing.T, a *oauth.Account) (string, error) { return a.Token(t.Context()) }

func refused(t *testing.T, a *oauth.Account) (string, error) { return a.Renew(t.Context(), "access-0") }

// A token is used until shortly before it expires, and renewed then.
func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &tokenEndpoint{lifetime: time.Hour}
		a := account(t, openStore(t, t.TempDir()), e, time.Now().Add(time.Minute))
		for _, want := range []string{"access-0", "access-0", "access-1"} {
			if token, err := a.Token(t.Context()); token != want || err != nil {
				t.Errorf("the token is %q, %v; want %q", token, err, want)
			}
			<-time.After(20 * time.Second)
		}
	})
}

// A kernel that died while it renewed a token delays the others, for at most
// the time of its claim.
func TestClaimOfADeadKernel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, s := &tokenEndpoint{lifetime: time.Hour}, openStore(t, t.TempDir())
		a := account(t, s, e, time.Now().Add(-time.Minute))
		r, err := s.Load(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		r.Claimed = time.Now().Add(35 * time.Second)
		if err := s.Save(t.Context(), "k", r); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if token, err := a.Token(ctx); token != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the claim lasts: %q, %v", token, err)
		}
		began := time.Now()
		if token, err := a.Token(t.Context()); token != "access-1" || err != nil {
			t.Errorf("the token is %q, %v", token, err)
		}
		if took := time.Since(began); took > 27*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A renewal that fails ends its claim, so the next one need not wait.
func TestFailedRenewalEndsItsClaim(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]tool.Kind{http.StatusBadGateway: tool.Unavailable, http.StatusBadRequest: ""} {
		synctest.Test(t, func(t *testing.T) {
			e, folder := &tokenEndpoint{lifetime: time.Hour, status: status}, t.TempDir()
			a := account(t, openStore(t, folder), e, time.Now().Add(-time.Minute))
			if token, err := a.Token(t.Context()); token != "" || tool.KindOf(err) != kind {
				t.Errorf("status %d: %q, %v", status, token, err)
			}
			e.status = 0
			began := time.Now()
			other := oauth.NewAccount("far", "k", openStore(t, folder), a.Client)
			if token, err := other.Token(t.Context()); token != "access-2" || err != nil || time.Since(began) > 2*time.Second {
				t.Errorf("after status %d: %q, %v in %v", status, token, err, time.Since(began))
			}
		})
	}
}

// What a person does while a token is being renewed counts.
func TestLoginDuringARenewal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		during func(*testing.T, oauth.Store)
		want   string
	}{
		"logged in": {func(t *testing.T, s oauth.Store) {
			other := oauth.NewAccount("far", "k", s, http.DefaultClient)
			if err := other.Set(t.Context(), &oauth.Record{Access: "of the person", Refresh: "new"}); err != nil {
				t.Error(err)
			}
		}, "of the person"},
		"logged out": {func(t *testing.T, s oauth.Store) {
			if err := s.Delete(t.Context(), "k"); err != nil {
				t.Error(err)
			}
		}, ""},
		"claimed again": {func(t *testing.T, s oauth.Store) {
			r, err := s.Load(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			r.Claimed = time.Now().Add(time.Minute)
			if err := s.Save(t.Context(), "k", r); err != nil {
				t.Error(err)
			}
		}, "access-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openStore(t, t.TempDir())
				e := &tokenEndpoint{lifetime: time.Hour, during: func() { c.during(t, s) }}
				a := account(t, s, e, time.Now().Add(-time.Minute))
				for range 2 {
					if token, err := a.Token(t.Context()); token != c.want || err != nil {
						t.Errorf("the token is %q, %v; want %q", token, err, c.want)
					}
				}
				if n := e.renewed.Load(); n != 1 {
					t.Errorf("renewed %d times", n)
				}
			})
		})
	}
}
