package users_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/app/users"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]users.Rules{
		"users: {admin_reads: contents}":  {AdminReads: users.Contents},
		"users: {admin_reads: metadata}":  {AdminReads: users.Metadata},
		"other: 1\nusers:\n":              {},
		"budget: {daily: 5}\nusers: null": {},
	} {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := users.Load(path); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if got, err := users.Load(filepath.Join(t.TempDir(), "none.yaml")); err != nil || got != (users.Rules{}) {
		t.Errorf("no file: %+v, %v", got, err)
	}
}

// A mistake opens nothing.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"users: {admin_reads: everything}":                         "admin_reads",
		"users: {admin_read: contents}":                            "admin_read",
		"users: [1]":                                               "users",
		"users: {admin_reads: contents, admin_reads2: contents}\n": "admin_reads2",
	} {
		path := filepath.Join(t.TempDir(), "app.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := users.Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || got != (users.Rules{}) {
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
		if got, err := users.Load(path); err != nil && got != (users.Rules{}) {
			t.Errorf("%q: %+v beside %v", text, got, err)
		}
	})
}
