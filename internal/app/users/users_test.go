package users_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"callgate/internal/app/users"
	"callgate/internal/quota"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]users.Rules{
		"users: {admin_reads: contents}": {AdminReads: users.Contents},
		"users: {admin_reads: metadata}": {AdminReads: users.Metadata},
		"other: 1\nusers:\n":             {},
		"users: {limits: {default: {usd_per_day: 0.5, calls_at_once: 2}, unpriced: count_tokens}}": {
			Limits: quota.Rules{Default: quota.Limits{quota.USDPerDay: 500_000, quota.CallsAtOnce: 2}, CountTokens: true},
		},
		"users: {limits: {users: {ada: {calls_per_day: 7}}, teams: {research: {tokens_per_month: 9}}}}": {
			Limits: quota.Rules{
				Users: map[string]quota.Limits{"ada": {quota.CallsPerDay: 7}},
				Teams: map[string]quota.Limits{"research": {quota.TokensPerMonth: 9}},
			},
		},
		"budget: {daily: 5}\nusers: null": {},
	} {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := users.Load(path); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if got, err := users.Load(filepath.Join(t.TempDir(), "none.yaml")); err != nil || !reflect.DeepEqual(got, users.Rules{}) {
		t.Errorf("no file: %+v, %v", got, err)
	}
}

// A mistake opens nothing.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"users: {admin_reads: everything}":                         "admin_reads",
		"users: {admin_read: contents}":                            "admin_read",
		"users: {limits: {default: {calls_per_day: 0}}}":           "calls_per_day is 0",
		"users: {limits: {default: {calls_a_day: 1}}}":             "calls_a_day",
		"users: {limits: {default: {usd_per_day: -1}}}":            "usd_per_day",
		"users: {limits: {users: {\"@ada\": {calls_per_day: 1}}}}": "cannot name a user",
		"users: {limits: {teams: {a b: {calls_per_day: 1}}}}":      "cannot name a team",
		"users: [1]": "users",
		"users: {admin_reads: contents, admin_reads2: contents}\n": "admin_reads2",
	} {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := users.Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || !reflect.DeepEqual(got, users.Rules{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// Any text is rules or an error.
func FuzzLoad(f *testing.F) {
	f.Add("users: {admin_reads: contents}")
	f.Add("users: {")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := users.Load(path); err != nil && !reflect.DeepEqual(got, users.Rules{}) {
			t.Errorf("%q: %+v beside %v", text, got, err)
		}
	})
}

// A file counts as it is now. While it has a mistake, what it last said counts; one that was never right is an error.
func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	limit := func(f *users.File) int64 {
		rules, err := f.Rules()
		if err != nil {
			t.Fatal(err)
		}
		return rules.Limits.Default[quota.CallsPerDay]
	}
	f := &users.File{Path: func() string { return path }}
	if n := limit(f); n != 0 {
		t.Errorf("without a file: %d", n)
	}
	write("users: {limits: {default: {calls_per_day: 70}}}")
	if n := limit(f); n != 70 {
		t.Errorf("%d", n)
	}
	write("users: {limits: {default: {calls_per_day: 8}}}")
	if n := limit(f); n != 8 {
		t.Errorf("after a change: %d", n)
	}
	write("users: {limits: {default: {calls_per_day: none}}}")
	if n := limit(f); n != 8 {
		t.Errorf("after a mistake: %d", n)
	}
	if _, err := (&users.File{Path: f.Path}).Rules(); err == nil {
		t.Error("a file that was never right has rules")
	}
}
