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
	early        = 30 * time.Second // a token is renewed this long before it expires
	loginTimeout = 30 * time.Second // how long renewing may take
)

// Account is the login to one server.
type Account struct {
	Server string // its name, for the words of errors
	Key    string
	Store  *Store
	Client *http.Client // for the authorization server

	turn chan struct{} // held by whoever looks at the record
	now  *Record
}

// NewAccount makes an account whose login, if any, is in the store.
func NewAccount(server, key string, store *Store, client *http.Client) *Account {
	return &Account{Server: server, Key: key, Store: store, Client: client, turn: make(chan struct{}, 1)}
}

// Token returns a token that is good as far as we know, or "".
func (a *Account) Token(ctx context.Context) (string, error) {
	if err := a.enter(ctx); err != nil {
		return "", err
	}
	defer a.leave()
	if isFresh(a.now) {
		return a.now.Access, nil
	}
	if err := a.reload(); err != nil || a.now == nil {
		return "", err
	}
	if isFresh(a.now) {
		return a.now.Access, nil
	}
	return a.renew(ctx)
}

// Renew returns a token other than the one that the server refused, or "".
func (a *Account) Renew(ctx context.Context, refused string) (string, error) {
	if err := a.enter(ctx); err != nil {
		return "", err
	}
	defer a.leave()
	if a.now == nil || a.now.Access == refused {
		if err := a.reload(); err != nil || a.now == nil {
			return "", err
		}
	}
	if a.now.Access != refused && isFresh(a.now) { // somebody was faster
		return a.now.Access, nil
	}
	return a.renew(ctx)
}

// Set stores a new login.
func (a *Account) Set(ctx context.Context, r *Record) error {
	if err := a.enter(ctx); err != nil {
		return err
	}
	defer a.leave()
	a.now = r
	return a.Store.Save(a.Key, r)
}

func (a *Account) enter(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Account) leave() { <-a.turn }

func (a *Account) reload() error {
	r, err := a.Store.Load(a.Key)
	if err != nil {
		return err
	}
	a.now = r
	return nil
}

func isFresh(r *Record) bool {
	return r != nil && r.Access != "" && (r.Expiry.IsZero() || time.Until(r.Expiry) > early)
}

// renew exchanges the refresh token. It is not cut short with the call that
// needed it: a token given out and not stored would be lost.
func (a *Account) renew(ctx context.Context) (string, error) {
	old := a.now
	if old.Refresh == "" {
		return "", nil // the server then asks for a login
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginTimeout)
	defer cancel()
	cfg := oauth2.Config{
		ClientID: old.ClientID, ClientSecret: old.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: old.TokenURL, AuthStyle: old.AuthStyle},
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, a.Client)
	token, err := cfg.TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		return "", nil
	}
	if err != nil {
		return "", tool.Errorf("mcp.login", tool.Unavailable, "the login to the MCP server %s cannot be renewed: %v", a.Server, err).
			WithHint("try again later, or run: callgate mcp login %s", a.Server)
	}
	fresh := *old
	fresh.Access, fresh.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		fresh.Refresh = token.RefreshToken
	}
	a.now = &fresh
	if err := a.Store.Save(a.Key, &fresh); err != nil {
		return "", err
	}
	return fresh.Access, nil
}
