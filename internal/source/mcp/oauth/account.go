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
)

// Account is the login to one server.
type Account struct {
	Server string // its name, for errors
	Key    string
	Store  *Store
	Client *http.Client // for the authorization server

	lock   chan struct{} // held by whoever uses the record
	record *Record
}

// NewAccount makes the account of a server. Its login, if any, is in the store.
func NewAccount(server, key string, store *Store, client *http.Client) *Account {
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
	if err := a.reload(); err != nil || a.record == nil {
		return "", err
	}
	if isFresh(a.record) {
		return a.record.Access, nil
	}
	return a.renew(ctx)
}

// Renew returns a token other than the one that the server refused, or "".
func (a *Account) Renew(ctx context.Context, refused string) (string, error) {
	if err := a.acquire(ctx); err != nil {
		return "", err
	}
	defer a.release()
	if a.record == nil || a.record.Access == refused {
		if err := a.reload(); err != nil || a.record == nil {
			return "", err
		}
	}
	if a.record.Access != refused && isFresh(a.record) { // another request was faster
		return a.record.Access, nil
	}
	return a.renew(ctx)
}

// Set stores a new login.
func (a *Account) Set(ctx context.Context, r *Record) error {
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	a.record = r
	return a.Store.Save(a.Key, r)
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

func (a *Account) reload() error {
	r, err := a.Store.Load(a.Key)
	if err != nil {
		return err
	}
	a.record = r
	return nil
}

func isFresh(r *Record) bool {
	return r != nil && r.Access != "" && (r.Expiry.IsZero() || time.Until(r.Expiry) > renewBefore)
}

// renew exchanges the refresh token. It is not cancelled with the request that
// needed it: a token that was given and not stored would be lost.
func (a *Account) renew(ctx context.Context) (string, error) {
	old := a.record
	if old.Refresh == "" {
		return "", nil // the server then asks for a login
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginTimeout)
	defer cancel()
	cfg := oauth2.Config{
		ClientID: old.ClientID, ClientSecret: old.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: old.TokenURL, AuthStyle: old.AuthStyle},
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, a.Client) // the library takes its HTTP client from nowhere else
	token, err := cfg.TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		return "", nil
	}
	if err != nil {
		return "", tool.Errorf("mcp.login", tool.Unavailable, "the login to the MCP server %s cannot be renewed: %v",
			a.Server, err).WithHint("try again later, or run: callgate mcp login %s", a.Server)
	}
	fresh := *old
	fresh.Access, fresh.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		fresh.Refresh = token.RefreshToken
	}
	a.record = &fresh
	if err := a.Store.Save(a.Key, &fresh); err != nil {
		return "", err
	}
	return fresh.Access, nil
}
