package secret_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/secret"
	"callgate/tool"
)

func seal(t testing.TB, v *secret.Vault, name, text string) []byte {
	t.Helper()
	sealed, err := v.Seal(name, []byte(text))
	ok(t, err)
	return sealed
}

func unsealed(t testing.TB, v *secret.Vault, name string, sealed []byte) string {
	t.Helper()
	plain, err := v.Unseal(name, sealed)
	ok(t, err)
	return string(plain)
}

func TestSeal(t *testing.T) {
	for name, ring := range map[string]*fakeRing{"a key file": nil, "a keyring": {values: map[string]string{}}} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			open := func() *secret.Vault {
				if ring == nil {
					return openStore(t, folder)
				}
				v, err := secret.OpenWith(filepath.Join(folder, "secrets.box"), ring)
				ok(t, err)
				return v
			}
			v := open()
			sealed := seal(t, v, "a", value)
			if bytes.Contains(sealed, []byte(value)) || bytes.Equal(sealed, seal(t, v, "a", value)) {
				t.Errorf("sealed as %q", sealed)
			}
			ok(t, v.Set("other", []byte("a secret of the store")))
			for _, v := range []*secret.Vault{v, open()} {
				if got := unsealed(t, v, "a", sealed); got != value {
					t.Errorf("unsealed %q", got)
				}
				if got := get(t, v, "other"); got != "a secret of the store" {
					t.Errorf("the store has %q", got)
				}
			}
			if got := unsealed(t, v, "a", seal(t, v, "a", "")); got != "" {
				t.Errorf("nothing was unsealed as %q", got)
			}
		})
	}
}

// Nothing of sealed data can be changed, and it opens under its own name alone.
func TestSealIsTight(t *testing.T) {
	folder := t.TempDir()
	v := openStore(t, folder)
	sealed := seal(t, v, "a", value)
	box, err := os.ReadFile(filepath.Join(folder, "secrets.box"))
	ok(t, err)
	for name, data := range map[string][]byte{
		"nothing": nil, "a head alone": sealed[:bytes.IndexByte(sealed, '\n')+1], "cut": sealed[:len(sealed)-1],
		"the store": box, "another": seal(t, openStore(t, t.TempDir()), "a", value),
		"newer": bytes.Replace(sealed, []byte("sealed 1"), []byte("sealed 2"), 1),
	} {
		if plain, err := v.Unseal("a", data); tool.KindOf(err) != tool.Invalid || len(plain) > 0 {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	for i := range sealed {
		data := bytes.Clone(sealed)
		data[i] ^= 1
		if plain, err := v.Unseal("a", data); err == nil {
			t.Errorf("byte %d was changed, and it opened as %q", i, plain)
		}
	}
	for _, name := range []string{"", "b", "aa"} {
		if _, err := v.Unseal(name, sealed); tool.KindOf(err) != tool.Invalid {
			t.Errorf("as %q: %v", name, err)
		}
	}
}

// Sealed data outlives a store that was moved away, if its key was not.
func TestSealWithoutTheStore(t *testing.T) {
	folder := t.TempDir()
	sealed := seal(t, openStore(t, folder), "a", value)
	ok(t, os.Remove(filepath.Join(folder, "secrets.box")))
	v := openStore(t, folder)
	if got := unsealed(t, v, "a", sealed); got != value {
		t.Errorf("unsealed %q", got)
	}
	if got := unsealed(t, v, "a", seal(t, v, "a", "again")); got != "again" {
		t.Errorf("unsealed %q", got)
	}
	if got := unsealed(t, v, "a", sealed); got != value {
		t.Errorf("after a new store was made: %q", got)
	}
	ok(t, os.Remove(filepath.Join(folder, "secrets.box")))
	ok(t, os.Remove(filepath.Join(folder, "secrets.key")))
	if _, err := openStore(t, folder).Unseal("a", sealed); tool.KindOf(err) != tool.Invalid ||
		!strings.Contains(err.Error(), "secrets.key") {
		t.Errorf("without the key: %v", err)
	}
	if _, err := new(secret.Vault).Seal("a", nil); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("without a store: %v", err)
	}
	if _, err := new(secret.Vault).Unseal("a", sealed); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("without a store: %v", err)
	}
}

func TestSealWithALockedKeyring(t *testing.T) {
	folder, ring := t.TempDir(), &fakeRing{values: map[string]string{}}
	path := filepath.Join(folder, "secrets.box")
	v, err := secret.OpenWith(path, ring)
	ok(t, err)
	sealed := seal(t, v, "a", value)
	ring.err = errors.New("the collection is locked")
	v, err = secret.OpenWith(path, ring)
	ok(t, err)
	if _, err := v.Unseal("a", sealed); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "unlock") {
		t.Errorf("unsealing: %v", err)
	}
	if _, err := v.Seal("a", nil); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("sealing: %v", err)
	}
	ring.err = nil
	if got := unsealed(t, v, "a", sealed); got != value {
		t.Errorf("unlocked: %q", got)
	}
}

// Vaults that seal at once, while there is no key yet, agree on one.
func TestFirstSealsAtOnce(t *testing.T) {
	folder := t.TempDir()
	var all sync.WaitGroup
	sealed := make([][]byte, 8)
	for i := range sealed {
		v := openStore(t, folder)
		all.Go(func() { sealed[i], _ = v.Seal("a", []byte(value)) })
	}
	all.Wait()
	v := openStore(t, folder)
	for _, data := range sealed {
		if got := unsealed(t, v, "a", data); got != value {
			t.Errorf("unsealed %q", got)
		}
	}
}
