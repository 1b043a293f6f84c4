package user_test

import (
	"strings"
	"testing"

	"callgate/internal/user"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"ada": true, "ada@example.org": true, "248289761001@accounts.example.org": true, "Ünal": true, "team/ops": true,
		"": false, "@ada": false, "a b": false, "a\nb": false, "a,b": false, "a\u202eb": false, "\xff": false,
		strings.Repeat("x", user.MaxName+1): false,
	} {
		if err := user.Check(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	if user.CheckTeams([]string{"ops", "research"}) != nil || user.CheckTeams([]string{"ops", "ops"}) == nil ||
		user.CheckTeams(make([]string, user.MaxTeams+1)) == nil {
		t.Error("teams")
	}
}

// No name of an account is a user's, and no user's is an account's.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, account := range []string{"", "root", "ada", `DOMAIN\ada`, "ada@corp"} {
		if user.Of(account) != "" || user.Name(account) != "" {
			t.Errorf("%q is taken for a user", account)
		}
	}
	in := user.InPrincipal("root")
	if in == "root" || user.Of(in) != in || user.Name(in) != "root" || user.InPrincipal("") != "" {
		t.Errorf("root is %q", in)
	}
}
