package token

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

// # Tokens of a provider
//
// A bearer for whom a provider vouches has one token here, whatever they are given by the provider from time to time.
// It is made when they come first, says what the provider said last, and ends with what the provider gave last. So
// what they opened stays theirs when they come with the next one, at whichever kernel. It is one token for all faces:
// whether they come to the API or with an MCP client, its ID is the same, and only the role of that use differs.
//
// Revoking it therefore ends everything that the provider has given them until then, at every face; what it gives after
// that counts. The provider's clock may be ahead of ours by ClockSkew, so what it gave within that time counts as given
// before. A revoked token is kept for as long as something that the provider gave before can count.

// Bearer is who a provider says that somebody is.
type Bearer struct {
	Key  string // names them among all bearers: the provider, and their number there
	By   string // for people
	Role Role   // of this use: Client for an MCP client
	Person
	Issued, Expires time.Time
}

// ClockSkew is how far the clock of a provider may be ahead of ours.
const ClockSkew = time.Minute

// IsRevoked reports whether what the bearer brings may have been given before a revocation at a time; zero: there
// was none.
func (b Bearer) IsRevoked(at time.Time) bool {
	return !at.IsZero() && !b.Issued.After(at.Add(ClockSkew))
}

// MaxBearerAge is how old what a provider gave may be at most.
const MaxBearerAge = 24 * time.Hour

// Untrusted is why what a bearer brings does not count.
type Untrusted struct{ Reason string }

// Error returns the reason.
func (u *Untrusted) Error() string { return u.Reason }

// UntrustedError is the error for what a bearer brings and does not count.
func UntrustedError(reason string) error {
	return tool.Errorf("token.UseBearer", tool.Denied, "%w", &Untrusted{reason}).
		WithHint("get another token from the provider")
}

// UseBearer returns the token of a bearer, if this use of it has a role.
func (s *Store) UseBearer(ctx context.Context, b Bearer, role Role) (Token, error) {
	const op = "token.UseBearer"
	if err := b.Person.check(); err != nil {
		return Token{}, err
	}
	var k kept
	var version int64
	id, err := s.bearerID(ctx, b, func(found kept, v int64) { k, version = found, v })
	if err != nil {
		return Token{}, err
	}
	now := time.Now()
	want := k
	want.ID, want.Name, want.Person, want.By, want.Bearer = id, id, b.Person, b.By, true
	if b.Role != Client || version == 0 { // a bearer that also uses the API is listed with its role there
		want.Role = b.Role
	}
	if want.Expires = b.Expires.UTC().Truncate(time.Second); k.Expires.After(want.Expires) {
		want.Expires = k.Expires
	}
	if version == 0 {
		want.Created = now.UTC().Round(0)
	}
	if now.Sub(k.LastUsed) >= useInterval {
		want.LastUsed = now.UTC().Truncate(useInterval)
	}
	if !sameBearer(want, k) {
		if err := s.writeBearer(ctx, want, version); err != nil {
			return Token{}, err
		}
	}
	if !b.Role.Includes(role) {
		return Token{}, tool.Errorf(op, tool.Denied, "%s has the role %s, and this needs %s", b.By, b.Role, role).
			WithHint("the roles are in the block bearer of the configuration of logins")
	}
	used := want.Token
	used.Role, used.Expires = b.Role, b.Expires // of this use, whatever else they have
	return used, nil
}

func sameBearer(a, b kept) bool {
	return a.Role == b.Role && a.By == b.By && a.User == b.User && a.FullName == b.FullName &&
		slices.Equal(a.Teams, b.Teams) && a.Expires.Equal(b.Expires) && a.LastUsed.Equal(b.LastUsed)
}

// bearerID is the ID of a bearer's token: the first that was not revoked. found is told of it if it is there.
func (s *Store) bearerID(ctx context.Context, b Bearer, found func(kept, int64)) (string, error) {
	sum := sha256.Sum256([]byte(b.Key))
	id := "jwt" + hex.EncodeToString(sum[:10])
	for n := 0; ; n++ {
		at := id
		if n > 0 {
			at += "r" + strconv.Itoa(n)
		}
		k, version, err := s.read(ctx, "token.UseBearer", at)
		switch {
		case tool.KindOf(err) == tool.Denied: // there is none
			return at, nil
		case err != nil:
			return "", err
		case k.Revoked.IsZero():
			found(k, version)
			return at, nil
		case b.IsRevoked(k.Revoked):
			return "", UntrustedError("what " + b.By + " had until " + k.Revoked.Format(time.RFC3339) + " was revoked; " +
				"what the provider gives a minute later counts")
		}
	}
}

// writeBearer keeps the token of a bearer. Another kernel that was faster has kept the same, or what is corrected with
// the next use.
func (s *Store) writeBearer(ctx context.Context, k kept, version int64) error {
	if version == 0 {
		list, err := s.List(ctx)
		if err == nil {
			list, err = s.withoutEnded(ctx, list)
		}
		if err != nil {
			return err
		}
		if n := count(list, func(t Token) bool { return t.Bearer }); n >= maxLogins {
			return tool.Errorf("token.UseBearer", tool.Limited, "%d people have come with tokens of the provider", n).
				WithHint("a token ends by itself after a while")
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	_, err = s.docs.Write(ctx, document.Change{Collection: collection, Key: k.ID, If: version, Data: data})
	s.forget()
	if tool.KindOf(err) != tool.Conflict {
		return err
	}
	now, _, err := s.read(ctx, "token.UseBearer", k.ID)
	if err == nil && !now.Revoked.IsZero() {
		err = UntrustedError("it was revoked just now")
	}
	return err
}

func count(list []Token, is func(Token) bool) (n int) {
	for _, t := range list {
		if is(t) {
			n++
		}
	}
	return n
}

// isOver reports whether nothing needs a token any more that nobody revoked.
func (t Token) isOver(now time.Time) bool {
	switch {
	case !t.Login && !t.Bearer || !t.Expired(now):
		return false
	case !t.Revoked.IsZero():
		return now.After(t.Revoked.Add(MaxBearerAge + time.Minute))
	}
	return true
}
