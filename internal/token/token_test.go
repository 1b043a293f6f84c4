package token_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/document"
	"callgate/internal/storage/sqlite"
	"callgate/internal/token"
	"callgate/tool"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) (*token.Store, document.Store) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	docs := db.Stores().Documents
	return token.NewStore(docs), docs
}

func TestTokenCountsUntilItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, docs := open(t)
		made, value, err := s.Create(t.Context(), token.Token{
			Name: "ci", Role: token.Approver, By: "ada", Expires: time.Now().Add(30 * 24 * time.Hour),
		})
		ok(t, err)
		if !strings.HasPrefix(value, token.Prefix+made.ID+"_") || len(value) < 30 {
			t.Errorf("the value is %q", value)
		}
		stored, err := document.ListAll(context.Background(), docs, "tokens", "")
		ok(t, err)
		if len(stored) != 1 || strings.Contains(string(stored[0].Data), value[len(value)-20:]) {
			t.Errorf("the store has %d documents, or the value itself", len(stored))
		}
		<-time.After(time.Hour)
		used, err := s.Use(t.Context(), value, token.Approver)
		ok(t, err)
		if used.Name != "ci" {
			t.Errorf("used %+v", used)
		}
		list, err := s.List(t.Context())
		ok(t, err)
		if len(list) != 1 || time.Since(list[0].LastUsed) > time.Minute || list[0].By != "ada" {
			t.Errorf("listed %+v", list)
		}
		<-time.After(31 * 24 * time.Hour)
		if _, err := s.Use(t.Context(), value, token.Approver); tool.KindOf(err) != tool.Denied ||
			!strings.Contains(err.Error(), "expired") {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestRevoked(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	_, first, err := s.Create(t.Context(), token.Token{Name: "one", Role: token.Approver})
	ok(t, err)
	second, other, err := s.Create(t.Context(), token.Token{Role: token.Approver})
	ok(t, err)
	for _, name := range []string{"one", second.ID} {
		_, err = s.Revoke(t.Context(), name)
		ok(t, err)
	}
	for _, value := range []string{first, other} {
		if _, err := s.Use(t.Context(), value, token.Approver); tool.KindOf(err) != tool.Denied {
			t.Errorf("a revoked token: %v", err)
		}
	}
	if _, err := s.Revoke(t.Context(), "one"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestUseRefuses(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	made, value, err := s.Create(t.Context(), token.Token{Role: token.Approver})
	ok(t, err)
	for name, v := range map[string]string{
		"nothing": "", "no prefix": strings.TrimPrefix(value, token.Prefix), "no secret": token.Prefix + made.ID,
		"another secret": value[:len(value)-1] + "_", "an empty id": token.Prefix + "_x", "a slash": token.Prefix + "a/b_x",
		"NUL": token.Prefix + "\x00_x", "long": token.Prefix + strings.Repeat("a", 1000) + "_x",
	} {
		if _, err := s.Use(t.Context(), v, token.Approver); tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Use(t.Context(), value, "client"); tool.KindOf(err) != tool.Denied {
		t.Errorf("another role: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	_, _, err := s.Create(t.Context(), token.Token{Name: "ci", Role: token.Approver})
	ok(t, err)
	for _, c := range []struct {
		name string
		make token.Token
		want tool.Kind
	}{
		{"no role", token.Token{}, tool.Invalid},
		{"an unknown role", token.Token{Role: "king"}, tool.Invalid},
		{"a name that hides something", token.Token{Role: token.Approver, Name: "a\u202eb"}, tool.Invalid},
		{"a long name", token.Token{Role: token.Approver, Name: strings.Repeat("a", 65)}, tool.Invalid},
		{"a name that is taken", token.Token{Role: token.Approver, Name: "ci"}, tool.Conflict},
		{"an end in the past", token.Token{Role: token.Approver, Expires: time.Now().Add(-time.Hour)}, tool.Invalid},
	} {
		if _, _, err := s.Create(t.Context(), c.make); tool.KindOf(err) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzUse(f *testing.F) {
	f.Add("cgt_abc_def")
	f.Add("")
	db, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "a.db"))
	ok(f, err)
	f.Cleanup(func() { _ = db.Close() })
	s := token.NewStore(db.Stores().Documents)
	f.Fuzz(func(t *testing.T, value string) {
		if _, err := s.Use(t.Context(), value, token.Approver); tool.KindOf(err) != tool.Denied {
			t.Errorf("%q: %v", value, err)
		}
	})
}

// A token that was just used counts no more once it is revoked, whoever reads it at that moment.
func TestRevokedAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for range 50 {
		made, value, err := s.Create(t.Context(), token.Token{Role: token.Viewer})
		ok(t, err)
		stop := make(chan struct{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_, _ = s.Use(t.Context(), value, token.Viewer)
					}
				}
			})
		}
		_, err = s.Use(t.Context(), value, token.Viewer)
		ok(t, err)
		_, err = s.Revoke(t.Context(), made.ID)
		ok(t, err)
		if _, err := s.Use(t.Context(), value, token.Viewer); tool.KindOf(err) != tool.Denied {
			t.Errorf("it counts after it was revoked: %v", err)
		}
		if err := s.Check(t.Context(), made.ID); tool.KindOf(err) != tool.Denied {
			t.Errorf("its ID counts after it was revoked: %v", err)
		}
		close(stop)
		group.Wait()
	}
}

// A token stands for a user, if it says so in words that can be one.
func TestPersons(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for name, c := range map[string]struct {
		person token.Person
		good   bool
	}{
		"nobody":            {token.Person{}, true},
		"a user":            {token.Person{User: "ada", FullName: "Ada Lovelace", Teams: []string{"research", "ops"}}, true},
		"teams of nobody":   {token.Person{Teams: []string{"ops"}}, false},
		"a hidden letter":   {token.Person{User: "a\u200bda"}, false},
		"the mark of users": {token.Person{User: "@ada"}, false},
		"a broken name":     {token.Person{User: "ada", FullName: "Ada\nadmin"}, false},
		"a team twice":      {token.Person{User: "ada", Teams: []string{"ops", "ops"}}, false},
	} {
		made, value, err := s.Create(t.Context(), token.Token{Name: name, Role: token.Operator, Person: c.person})
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		used, err := s.Use(t.Context(), value, token.Viewer)
		if err != nil || used.User != c.person.User || len(used.Teams) != len(c.person.Teams) ||
			used.InPrincipal() != made.InPrincipal() {
			t.Errorf("%s: %+v, %v", name, used, err)
		}
	}
}

// Logins of one user keep nobody else out, and no token of a program.
func TestNumberOfLogins(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	login := func(user string) error {
		_, _, err := s.Create(t.Context(), token.Token{
			Role: token.Viewer, Login: true, Person: token.Person{User: user}, Expires: time.Now().Add(time.Hour),
		})
		return err
	}
	n := 0
	for ; n < 100 && login("ada") == nil; n++ {
	}
	if n != 20 {
		t.Errorf("ada has %d logins", n)
	}
	if err := login("ada"); tool.KindOf(err) != tool.Limited {
		t.Errorf("one more is %v", err)
	}
	ok(t, login("bob"))
	ok(t, login("")) // the kernel's own user
	_, _, err := s.Create(t.Context(), token.Token{Role: token.Operator})
	ok(t, err)
}

// A bearer has one token for all faces. Revoking it ends what the provider gave until then, also what says that it was
// given a moment later, and what it gives after that counts.
func TestBearerOfAllFaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t)
		bearer := func(role token.Role, issued time.Time) token.Bearer {
			return token.Bearer{
				Key: "https://provider\nu1", By: "u1 by provider", Role: role, Person: token.Person{User: "u1@provider"},
				Issued: issued, Expires: issued.Add(time.Hour),
			}
		}
		use := func(role token.Role, issued time.Time) (token.Token, error) {
			return s.UseBearer(t.Context(), bearer(role, issued), role)
		}
		client, err := use(token.Client, time.Now())
		ok(t, err)
		operator, err := use(token.Operator, time.Now().Add(-time.Minute))
		ok(t, err)
		again, err := use(token.Client, time.Now())
		ok(t, err)
		if client.ID != operator.ID || again.ID != client.ID || operator.Role != token.Operator || again.Role != token.Client {
			t.Errorf("%+v, %+v, %+v", client, operator, again)
		}
		if !operator.Expires.Before(again.Expires) {
			t.Errorf("each use ends with what was brought: %v, %v", operator.Expires, again.Expires)
		}
		list, err := s.List(t.Context())
		ok(t, err)
		if len(list) != 1 || list[0].Role != token.Operator {
			t.Errorf("listed as %+v", list)
		}
		_, err = s.Revoke(t.Context(), client.ID)
		ok(t, err)
		for name, issued := range map[string]time.Time{
			"before": time.Now().Add(-time.Second), "now": time.Now(), "by a clock that is ahead": time.Now().Add(50 * time.Second),
		} {
			for _, role := range []token.Role{token.Client, token.Operator} {
				if _, err := use(role, issued); tool.KindOf(err) != tool.Denied {
					t.Errorf("%s, as %s: %v", name, role, err)
				}
			}
		}
		<-time.After(2 * time.Minute)
		next, err := use(token.Client, time.Now())
		if err != nil || next.ID == client.ID {
			t.Errorf("the next is %+v, %v", next, err)
		}
	})
}
