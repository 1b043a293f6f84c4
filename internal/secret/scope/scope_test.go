package scope_test

import (
	"testing"

	"callgate/internal/secret/scope"
)

func TestRef(t *testing.T) {
	t.Parallel()
	for text, r := range map[string]scope.Ref{
		"hub":                       {Scope: scope.SystemWide, Name: "hub"},
		"per_user:hub":              {Scope: scope.PerUser, Name: "hub"},
		"per_app_per_user:shop:hub": {Scope: scope.PerAppPerUser, App: "shop", Name: "hub"},
	} {
		if r.String() != text || scope.Parse(text) != r {
			t.Errorf("%s: %+v, written as %s", text, scope.Parse(text), r)
		}
	}
	shared := scope.Ref{Scope: scope.PerAppShared, App: "shop", Name: "hub"}
	if shared.String() != "shop.hub" || shared.OfUser() || !scope.Parse("per_user:hub").OfUser() {
		t.Error("of an app")
	}
	if scope.InWords("per_user:hub", true) != "hub" || scope.InWords("hub", true) == scope.InWords("per_user:hub", true) {
		t.Error("who accepts an app is not told what is everybody's")
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for said, want := range map[[3]string]string{ // scope, app and user
		{}:                                  scope.SystemWide,
		{"", "shop", ""}:                    scope.PerAppShared,
		{"", "", "ada"}:                     scope.PerUser,
		{"", "shop", "ada"}:                 scope.PerAppPerUser,
		{scope.PerUser, "", ""}:             scope.PerUser, // of the kernel's own user
		{scope.PerAppPerUser, "shop", ""}:   scope.PerAppPerUser,
		{scope.SystemWide, "", "ada"}:       "",
		{scope.PerAppShared, "shop", "ada"}: "",
		{scope.PerUser, "shop", "ada"}:      "",
		{scope.PerAppPerUser, "", "ada"}:    "",
		{"everybody", "", ""}:               "",
		{"", "shop:per_user", "ada"}:        "",
		{"", "../x", ""}:                    "",
		{scope.SystemWide, "shop", ""}:      "",
	} {
		r, err := scope.New(said[0], said[1], said[2], "hub")
		if (err == nil) != (want != "") || err == nil && r.Scope != want {
			t.Errorf("%q: %+v, %v, want %q", said, r, err, want)
		}
	}
}

// Nothing that is not written as a user's is read as one, and what was written is read as it was.
func FuzzParse(f *testing.F) {
	f.Add("per_app_per_user:shop:hub")
	f.Add("per_user:")
	f.Fuzz(func(t *testing.T, text string) {
		r := scope.Parse(text)
		if again := scope.Parse(r.String()); r.OfUser() && again != r {
			t.Errorf("%q is %+v, and then %+v", text, r, again)
		}
	})
}
