package oauth_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/source/mcp/oauth"
	"callgate/tool"
)

func TestStores(t *testing.T) {
	t.Parallel()
	r := &oauth.Record{Access: "a", Refresh: "r", Expiry: time.Now().Add(time.Hour).UTC().Round(0), ClientID: "c", TokenURL: "https://x/token", Scopes: []string{"s"}}
	for name, s := range map[string]*oauth.Store{"memory": {}, "disk": {Dir: filepath.Join(t.TempDir(), "logins")}} {
		t.Run(name, func(t *testing.T) {
			if got, err := s.Load("k"); got != nil || err != nil {
				t.Errorf("from nothing came %v, %v", got, err)
			}
			if err := s.Save("k", r); err != nil {
				t.Fatal(err)
			}
			got, err := s.Load("k")
			if diff := cmp.Diff(r, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if s.Dir != "" && runtime.GOOS != "windows" {
				info, err := os.Stat(filepath.Join(s.Dir, "k.json"))
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("its mode is %v, %v", info.Mode(), err)
				}
			}
			if err := s.Delete("k"); err != nil {
				t.Error(err)
			}
			if got, err := s.Load("k"); got != nil || err != nil {
				t.Errorf("after it was removed came %v, %v", got, err)
			}
			if err := s.Delete("k"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDamagedLogin(t *testing.T) {
	t.Parallel()
	s := &oauth.Store{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.Dir, "k.json"), []byte(`{"access_token": "s3cr3t`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := oauth.NewAccount("far", "k", s, http.DefaultClient)
	_, err := a.Token(t.Context())
	if tool.KindOf(err) != tool.Unavailable || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("the error is %v", err)
	}
}

func TestTokenWithoutRefresh(t *testing.T) {
	t.Parallel()
	s := &oauth.Store{}
	a := oauth.NewAccount("far", "k", s, http.DefaultClient)
	if got, err := a.Token(t.Context()); got != "" || err != nil {
		t.Errorf("without a login: %q, %v", got, err)
	}
	if err := a.Set(t.Context(), &oauth.Record{Access: "good"}); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Token(t.Context()); got != "good" || err != nil {
		t.Errorf("a token without an end: %q, %v", got, err)
	}
	if got, err := a.Renew(t.Context(), "good"); got != "" || err != nil {
		t.Errorf("renewed without a way to: %q, %v", got, err)
	}
	if got, err := a.Renew(t.Context(), "another"); got != "good" || err != nil {
		t.Errorf("what was refused is not what we have: %q, %v", got, err)
	}
}
