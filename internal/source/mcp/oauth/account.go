package oauth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"callgate/tool"
)

const (
	renewBefore  = 30 * time.Second // how long before it expires a token is renewed
	loginTimeout = 30 * time.Second // how long renewing may take
	storeTimeout = 5 * time.Second  // how long storing may take
	claimTime    = loginTimeout + storeTimeout
	claimPoll    = 100 * time.Millisecond // how often a kernel looks whether another's claim has ended
)

// Account is the login to one server.
type Account struct {
	Server string // its name, for errors
	Key    string
	Store  Store
	Client *http.Client // for the authorization server

	lock   chan struct{} // held by the request that uses the record
	record *Record
}

// NewAccount makes the account of a server. Its login, if any, is in the store.
func NewAccount(server, key string, store Store, client *http.Client) *Account {
	return &Account{Server: server, Key: key, Store: store, Client: client, lock: make(chan struct{}, 1)}
}

// Token returns a token that is valid as far as is known, or "".
func (a *Account) Token(ctx context.Context) (string, error) {
	if err := a.acquire(ctx); err != nil {
		return "", err
	}
	defer a.release()
	if isFresh(a.record) {
		return a.record.Access, nil
	}
	return a.renewed(ctx, "")
}

// Renew returns a token other than the one that the server refused, or "".
func (a *Account) Renew(ctx context.Context, refused string) (string, error) {
	if err := a.acquire(ctx); err != nil {
		return "", err
	}
	defer a.release()
	if isFresh(a.record) && a.record.Access != refused { // another request was faster
		return a.record.Access, nil
	}
	return a.renewed(ctx, refused)
}

// Last returns the login that is stored, whether it still counts or not; nil: none is.
func (a *Account) Last(ctx context.Context) (*Record, error) { return a.Store.Load(ctx, a.Key) }

// Set stores a new login.
func (a *Account) Set(ctx context.Context, r *Record) error {
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	r.Version = AnyVersion
	if err := a.Store.Save(ctx, a.Key, r); err != nil {
		return err
	}
	a.record = r
	return nil
}

func (a *Account) acquire(ctx context.Context) error {
	select {
	case a.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Account) release() { <-a.lock }

func isFresh(r *Record) bool {
	return r != nil && r.Access != "" && (r.Expiry.IsZero() || time.Until(r.Expiry) > renewBefore)
}

// renewed returns the token of the store if it is fresh and was not refused,
// and otherwise renews it, or waits for the kernel that does.
func (a *Account) renewed(ctx context.Context, refused string) (string, error) {
	for {
		r, err := a.Store.Load(ctx, a.Key)
		if err != nil {
			return "", err
		}
		a.record = r
		switch {
		case r == nil:
			return "", nil
		case isFresh(r) && r.Access != refused:
			return r.Access, nil
		case r.Refresh == "":
			return "", nil // the server then asks for a login
		}
		if left := time.Until(r.Claimed); left > 0 {
			select {
			case <-time.After(min(left, claimPoll)):
				continue
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		token, err := a.renew(ctx)
		if tool.KindOf(err) != tool.Conflict {
			return token, err
		}
	}
}

// renew claims the record and exchanges its refresh token. A Conflict says that
// another kernel was faster. It is not cancelled with the request that needed
// it: a token that was given and not stored would be lost.
func (a *Account) renew(ctx context.Context) (string, error) {
	ctx = context.WithoutCancel(ctx)
	claimed := *a.record
	claimed.Claimed = time.Now().Add(claimTime).UTC()
	if err := a.save(ctx, &claimed); err != nil {
		return "", err
	}
	next := claimed
	next.Claimed = time.Time{}
	token, err := a.exchange(ctx, &claimed)
	if token == nil {
		if a.save(ctx, &next) == nil { // otherwise the claim ends by its time
			a.record = &next
		}
		return "", err
	}
	next.Access, next.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		next.Refresh = token.RefreshToken
	}
	return a.replace(ctx, &claimed, &next)
}

func (a *Account) save(ctx context.Context, r *Record) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return a.Store.Save(ctx, a.Key, r)
}

// exchange asks the authorization server for a token. It returns none when the
// server refuses: then a person must log in again.
func (a *Account) exchange(ctx context.Context, r *Record) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	cfg := oauth2.Config{
		ClientID: r.ClientID, ClientSecret: r.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: r.TokenURL, AuthStyle: r.AuthStyle},
	}
	// The library takes its HTTP client from nowhere else.
	ctx = context.WithValue(ctx, oauth2.HTTPClient, withoutRedirects(a.Client))
	token, err := cfg.TokenSource(ctx, &oauth2.Token{RefreshToken: r.Refresh}).Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		return nil, nil
	}
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "the login to the MCP server %s cannot be renewed: %v",
			a.Server, err).WithHint("try again later, or run: callgate mcp login %s", a.Server)
	}
	return token, nil
}

// replace stores a renewed login in the place of the claimed one, and returns
// its token. If a person logged in or out meanwhile, that counts.
func (a *Account) replace(ctx context.Context, claimed, next *Record) (string, error) {
	for {
		err := a.save(ctx, next)
		if err == nil {
			a.record = next
			return next.Access, nil
		}
		if tool.KindOf(err) != tool.Conflict {
			return "", err
		}
		now, err := a.Store.Load(ctx, a.Key)
		switch {
		case err != nil:
			return "", err
		case now == nil:
			a.record = nil
			return "", nil
		case now.Refresh != claimed.Refresh:
			a.record = now
			return now.Access, nil
		}
		next.Version = now.Version // only the claim ended
	}
}
