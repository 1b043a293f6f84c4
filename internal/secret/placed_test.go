package secret_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/secret"
	"callgate/tool"
)

func TestPlacedKey(t *testing.T) {
	t.Setenv(secret.PlacedVariable, "")
	path := filepath.Join(t.TempDir(), "user-secrets.key")
	read := func(text string) *secret.PlacedKey {
		t.Helper()
		ok(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := secret.ReadPlaced(path)
		ok(t, err)
		return p
	}
	if p, err := secret.ReadPlaced(path); p != nil || err != nil {
		t.Errorf("of no file: %v, %v", p, err)
	}
	p, other := read(strings.Repeat("a1", 32)+"\n"), read(strings.Repeat("b2", 32))
	sealed := p.Seal("of/ada/hub", []byte(value))
	plain, err := p.Unseal("of/ada/hub", sealed)
	ok(t, err)
	if string(plain) != value || bytes.Contains(sealed, []byte(value)) || secret.PlacedID(sealed) != p.ID() {
		t.Errorf("%q was sealed as %q", plain, sealed)
	}
	for what, open := range map[string]func() ([]byte, error){
		"another name": func() ([]byte, error) { return p.Unseal("of/ben/hub", sealed) },
		"another key":  func() ([]byte, error) { return other.Unseal("of/ada/hub", sealed) },
		"cut short":    func() ([]byte, error) { return p.Unseal("of/ada/hub", sealed[:len(sealed)-1]) },
		"the store's":  func() ([]byte, error) { return openStore(t, t.TempDir()).Unseal("of/ada/hub", sealed) },
	} {
		if plain, err := open(); tool.KindOf(err) != tool.Invalid || len(plain) > 0 {
			t.Errorf("%s: %q, %v", what, plain, err)
		}
	}
	both := read(strings.Repeat("c3", 32) + "\n" + strings.Repeat("a1", 32) + "\n") // a new key, and the earlier one
	if plain, err := both.Unseal("of/ada/hub", sealed); err != nil || string(plain) != value {
		t.Errorf("what the earlier key sealed: %q, %v", plain, err)
	}
	anew := both.Seal("of/ada/hub", []byte(value))
	if _, err := p.Unseal("of/ada/hub", anew); tool.KindOf(err) != tool.Invalid || secret.PlacedID(anew) != both.ID() {
		t.Errorf("the earlier key opens what the new one sealed: %v", err)
	}
	t.Setenv(secret.PlacedVariable, strings.Repeat("a1", 32)) // it goes before the file
	if again, err := secret.ReadPlaced(path); err != nil || again.ID() != p.ID() {
		t.Errorf("of the environment: %v", err)
	}
	// No tool is given it, though it is a variable of the kernel's.
	if _, err := openStore(t, t.TempDir()).Values([]string{secret.PlacedVariable}); tool.KindOf(err) != tool.Denied {
		t.Errorf("as a secret: %v", err)
	}
	t.Setenv(secret.PlacedVariable, "")
	mounted := filepath.Join(t.TempDir(), "cluster-key") // as a container has it, with a mode of its own
	t.Setenv(secret.PlacedFileVariable, mounted)
	if _, err := secret.ReadPlaced(path); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("of a file that is named and not there: %v", err)
	}
	ok(t, os.WriteFile(mounted, []byte(strings.Repeat("b2", 32)+"\n"), 0o644))
	if named, err := secret.ReadPlaced(path); err != nil || named.ID() != other.ID() {
		t.Errorf("of a file that is named: %v", err)
	}
	t.Setenv(secret.PlacedFileVariable, "")
	const bad = "not-a-key-but-perhaps-one"
	for _, text := range []string{bad, strings.Repeat("a1", 32) + " " + bad, strings.Repeat(strings.Repeat("a1", 32)+"\n", 9), " "} {
		t.Setenv(secret.PlacedVariable, text)
		if _, err := secret.ReadPlaced(path); tool.KindOf(err) != tool.Invalid || strings.Contains(err.Error(), bad) {
			t.Errorf("of the variable %q: %v", text, err)
		}
	}
	t.Setenv(secret.PlacedVariable, "")
	ok(t, os.Chmod(path, 0o644))
	if _, err := secret.ReadPlaced(path); tool.KindOf(err) != tool.Denied {
		t.Errorf("of a file that others read: %v", err)
	}
}

// A text cannot be given what each user has of their own: it would be the kernel's.
func TestExpandTakesNothingOfUsers(t *testing.T) {
	t.Setenv("HUB_VALUE", "the kernel's own")
	v := openStore(t, t.TempDir())
	if text, err := v.Expand("{{secret.per_user:HUB_VALUE}}"); tool.KindOf(err) != tool.Invalid || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
