// Package token keeps the tokens that a human made.
//
// # Law
//
// A token has a role, which is all that it may do, and for some roles a profile,
// which is where. An administrator's has the roles of the others, but for that of an MCP
// client; whoever may say yes, or have calls made, may also look. Its value is shown
// once, when it is made; the store has only a hash of it. It counts until it expires or
// is revoked, and its last use is kept. It may stand for a user beside the kernel's own: then
// what is asked with it is that user's, and what others asked is not to be seen with it.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"callgate/internal/document"
	"callgate/internal/visible"
	"callgate/tool"
)

// Role is what a token may do.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // may look at everything but secrets, and changes nothing
	Operator Role = "operator" // may have calls made and talk to agents, and says yes to nothing
	Approver Role = "approver" // may say yes: answer approvals, and accept apps and servers
	Admin    Role = "admin"    // may do all of that, and what the human's key does
	Client   Role = "client"   // is let in as an MCP client over HTTP, and says yes to nothing
)

// Roles lists the roles.
func Roles() []Role { return []Role{Viewer, Operator, Approver, Admin, Client} }

// Includes reports whether a role may do what another may.
func (r Role) Includes(other Role) bool {
	switch r {
	case other:
		return true
	case Admin:
		return other != Client
	case Operator, Approver:
		return other == Viewer
	}
	return false
}

// Prefix begins the value of every token.
const Prefix = "cgt_"

// Token is what is known of a token.
type Token struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Profile string `json:"profile,omitempty"` // empty: everywhere
	By      string `json:"by,omitempty"`      // who made it
	Person
	Login    bool      `json:"login,omitempty"`  // it stands for a person who logged in, and is removed when it has ended
	Bearer   bool      `json:"bearer,omitempty"` // a provider vouches for them: see UseBearer
	Revoked  time.Time `json:"revoked,omitzero"` // of a bearer's, which is kept for a while
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`   // zero: never
	LastUsed time.Time `json:"last_used,omitzero"` // to the minute
}

// Described says what a token is, for people: its name, role and limits.
func (t Token) Described() string {
	text := t.Name + ", role " + string(t.Role)
	if t.Profile != "" {
		text += ", profile " + t.Profile
	}
	if t.User != "" {
		text += ", of the user " + t.User
	}
	return text
}

// Expired reports whether the token no longer counts at a time.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// kept is a token as it is stored.
type kept struct {
	Token
	Hash string `json:"hash"` // SHA-256 of the value
}

// Store keeps tokens in documents.
type Store struct {
	docs document.Store

	mu      sync.Mutex
	recent  map[string]recent // what was read a moment ago, by ID
	changes int               // what was read before the last of them is not kept
}

// recent is a token that was read, for whoever asks again at once: every call over the network does, twice.
type recent struct {
	kept
	version int64
	until   time.Time
}

// recentTime is how long a token is not read again. What is revoked here counts no more at once; what another process
// revokes, when this is over.
const recentTime = time.Second

// NewStore returns the tokens in a store of documents.
func NewStore(docs document.Store) *Store { return &Store{docs: docs, recent: map[string]recent{}} }

// forget has every token read again.
func (s *Store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	clear(s.recent)
}

const collection = "tokens"

// The bounds of what a store keeps.
const (
	maxTokens      = 200
	maxLogins      = 2000
	maxLoginsOfOne = 20
	maxName        = 64
	maxProfile     = 40
)

// useInterval is how old a last use may become before the next one is written.
const useInterval = time.Minute

// Create keeps a new token and returns it with its value. The caller says its role,
// and may say its name, profile and end; the rest is set here.
func (s *Store) Create(ctx context.Context, t Token) (Token, string, error) {
	if err := check(t); err != nil {
		return Token{}, "", err
	}
	list, err := s.List(ctx)
	if err != nil {
		return Token{}, "", err
	}
	if list, err = s.withoutEnded(ctx, list); err != nil {
		return Token{}, "", err
	}
	if err := checkNumber(list, t); err != nil {
		return Token{}, "", err
	}
	t.ID, t.Created, t.LastUsed = strings.ToLower(rand.Text()[:8]), time.Now().UTC().Round(0), time.Time{}
	if t.Name == "" {
		t.Name = t.ID
	}
	if slices.ContainsFunc(list, func(o Token) bool { return o.Name == t.Name || o.ID == t.Name && t.Name != t.ID }) {
		return Token{}, "", tool.Errorf("token.Create", tool.Conflict, "there is a token %q already", t.Name).
			WithHint("choose another name, or revoke that one first")
	}
	value := Prefix + t.ID + "_" + rand.Text()
	data, err := json.Marshal(kept{t, hash(value)})
	if err != nil {
		return Token{}, "", err
	}
	if _, err := s.docs.Write(ctx, document.Change{Collection: collection, Key: t.ID, Data: data}); err != nil {
		return Token{}, "", err
	}
	return t, value, nil
}

// checkNumber keeps tokens within their number, and logins within theirs: nobody who logs in again and again keeps
// others out.
func checkNumber(list []Token, t Token) error {
	const op = "token.Create"
	same, all := 0, 0
	for _, o := range list {
		if o.Login == t.Login {
			all++
		}
		if o.Login && o.User == t.User {
			same++
		}
	}
	switch {
	case !t.Login && all >= maxTokens:
		return tool.Errorf(op, tool.Limited, "there are %d tokens", all).
			WithHint("revoke those that nobody uses: callgate token list")
	case t.Login && t.User != "" && same >= maxLoginsOfOne, t.Login && all >= maxLogins:
		return tool.Errorf(op, tool.Limited, "there are %d logins, %d of them yours", all, same).
			WithHint("log out where you need it no more; a login ends by itself after a while")
	}
	return nil
}

// withoutEnded removes the logins that have ended.
func (s *Store) withoutEnded(ctx context.Context, list []Token) (left []Token, err error) {
	now := time.Now()
	for _, t := range list {
		if !t.isOver(now) {
			left = append(left, t)
			continue
		}
		if err := s.remove(ctx, t, time.Time{}); err != nil && tool.KindOf(err) != tool.NotFound {
			return nil, err
		}
	}
	return left, nil
}

func check(t Token) error {
	const op = "token.Create"
	switch {
	case !slices.Contains(Roles(), t.Role):
		return tool.Errorf(op, tool.Invalid, "there is no role %q", tool.Truncate(string(t.Role))).
			WithHint("the roles are: viewer, operator, approver, admin, client")
	case t.Profile != "" && t.Role != Client && t.Role != Operator:
		return tool.Errorf(op, tool.Invalid, "a token of the role %s has no profile", t.Role).
			WithHint("a profile limits what a client or an operator is given: --role client")
	case len(t.Profile) > maxProfile || strings.Trim(t.Profile, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return tool.Errorf(op, tool.Invalid, "%q cannot name a profile", tool.Truncate(t.Profile)).
			WithHint("write the name of a profile of the app file: callgate app where shows them")
	case len(t.Name) > maxName || !utf8.ValidString(t.Name) || visible.Text(t.Name) != t.Name:
		return tool.Errorf(op, tool.Invalid, "%q cannot name a token", tool.Truncate(t.Name)).
			WithHint("a name has at most %d bytes, and shows all of its characters", maxName)
	case t.Expired(time.Now()):
		return tool.Errorf(op, tool.Invalid, "the token would have expired already")
	}
	return t.Person.check()
}

func hash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// List returns the tokens, by the time they were made.
func (s *Store) List(ctx context.Context) ([]Token, error) {
	docs, err := document.ListAll(ctx, s.docs, collection, "")
	if err != nil {
		return nil, err
	}
	var list []Token
	for _, d := range docs {
		var k kept
		switch err := json.Unmarshal(d.Data, &k); {
		case err != nil && !json.Valid(d.Data):
			continue // a login to an MCP server, which were kept here once: see package oauth
		case err != nil:
			return nil, unreadable(d.Key, err)
		}
		list = append(list, k.Token)
	}
	slices.SortFunc(list, func(a, b Token) int { return a.Created.Compare(b.Created) })
	return list, nil
}

func unreadable(id string, err error) error {
	return &tool.Error{Op: "token", Kind: tool.Internal, Message: "the token " + id + " cannot be read", Err: err}
}

// Revoke removes a token, by its ID or name.
func (s *Store) Revoke(ctx context.Context, name string) (Token, error) {
	list, err := s.List(ctx)
	if err != nil {
		return Token{}, err
	}
	at := slices.IndexFunc(list, func(t Token) bool { return (t.ID == name || t.Name == name) && t.Revoked.IsZero() })
	if at < 0 {
		return Token{}, tool.Errorf("token.Revoke", tool.NotFound, "there is no token %q", tool.Truncate(name)).
			WithHint("callgate token list shows them")
	}
	var revoked time.Time
	if list[at].Bearer {
		revoked = time.Now().UTC().Round(0)
	}
	return list[at], s.remove(ctx, list[at], revoked)
}

// remove removes a token; that of a bearer who was revoked is kept with that.
func (s *Store) remove(ctx context.Context, t Token, revoked time.Time) error {
	_, err := document.Update(ctx, s.docs, func() ([]document.Change, error) {
		d, err := s.docs.Get(ctx, collection, t.ID)
		if tool.KindOf(err) == tool.NotFound {
			return nil, nil // somebody else was faster
		}
		change := document.Change{Collection: collection, Key: d.Key, If: d.Version}
		if err == nil && !revoked.IsZero() {
			t.Revoked, t.Expires = revoked, revoked
			change.Data, err = json.Marshal(kept{Token: t})
		}
		return []document.Change{change}, err
	})
	s.forget()
	return err
}

// Use returns the token with a value, if it has the role and still counts, and
// keeps that it was used.
func (s *Store) Use(ctx context.Context, value string, role Role) (Token, error) {
	const op = "token.Use"
	id, _, ok := strings.Cut(strings.TrimPrefix(value, Prefix), "_")
	if !ok || id == "" || !strings.HasPrefix(value, Prefix) || len(id) > maxName {
		return Token{}, unknown(op)
	}
	k, version, err := s.read(ctx, op, id)
	if err != nil {
		return Token{}, err
	}
	if subtle.ConstantTimeCompare([]byte(hash(value)), []byte(k.Hash)) != 1 {
		return Token{}, unknown(op)
	}
	if err := k.checkTime(op); err != nil {
		return Token{}, err
	}
	if !k.Role.Includes(role) {
		return Token{}, tool.Errorf(op, tool.Denied, "the token %s has the role %s, and this needs %s", k.Name, k.Role, role)
	}
	if now := time.Now(); now.Sub(k.LastUsed) >= useInterval {
		k.LastUsed = now.UTC().Truncate(useInterval)
		if data, err := json.Marshal(k); err == nil {
			// Another use may have been faster, which is as good.
			_, _ = s.docs.Write(ctx, document.Change{Collection: collection, Key: id, If: version, Data: data})
			s.forget()
		}
	}
	return k.Token, nil
}

// Check returns an error unless the token with an ID still counts. What stands for a process counts as long as
// somebody speaks for that process.
func (s *Store) Check(ctx context.Context, id string) error {
	if IsProcess(id) {
		return nil
	}
	_, err := s.Find(ctx, id)
	return err
}

// Find returns the token with an ID, if it still counts.
func (s *Store) Find(ctx context.Context, id string) (Token, error) {
	const op = "token.Check"
	k, _, err := s.read(ctx, op, id)
	if err != nil {
		return Token{}, err
	}
	return k.Token, k.checkTime(op)
}

// read returns the token with an ID, and the version of its document.
func (s *Store) read(ctx context.Context, op, id string) (k kept, version int64, err error) {
	s.mu.Lock()
	r, known, changes := s.recent[id], time.Now().Before(s.recent[id].until), s.changes
	s.mu.Unlock()
	if known {
		return r.kept, r.version, nil
	}
	d, err := s.docs.Get(ctx, collection, id)
	switch tool.KindOf(err) {
	case tool.NotFound, tool.Invalid, tool.Denied: // denied: no node wrote it, and the kernel's log names it
		return k, 0, unknown(op)
	}
	if err != nil {
		return k, 0, err
	}
	if err := json.Unmarshal(d.Data, &k); err != nil {
		return k, 0, unreadable(id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == changes {
		s.recent[id] = recent{k, d.Version, time.Now().Add(recentTime)}
	}
	return k, d.Version, nil
}

// checkTime returns an error if the token has expired.
func (k *kept) checkTime(op string) error {
	if !k.Expired(time.Now()) {
		return nil
	}
	return tool.Errorf(op, tool.Denied, "the token %s expired on %s", k.Name, k.Expires.Format(time.DateOnly)).
		WithHint("a human makes another: callgate token create --role %s", k.Role)
}

func unknown(op string) error {
	return tool.Errorf(op, tool.Denied, "the token is not one of this kernel's, or was revoked").
		WithHint("callgate token list shows those that count")
}
