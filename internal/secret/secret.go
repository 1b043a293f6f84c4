// Package secret turns names into values, only at the edge, and keeps the
// values out of everything that is written down.
//
// A [Vault] is asked for a name at the moment a handler needs its value. It
// looks into the store first, a file that is encrypted and its owner's alone,
// then into the environment, then into the keyring of the operating system.
//
// # Law
//
// The scrubber of a vault knows every value before the vault returns it: all
// values of the store, every value resolved from elsewhere, and the likely
// secrets of the environment (variables named like a key, a token or a
// password). A value that was known once stays known: after it was replaced or
// deleted, somebody may still hold it. Another process may change the store, so
// it is checked before each lookup, which costs one stat.
package secret

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/lazyregexp"
	"callgate/tool"
)

// Vault resolves names. The zero value knows only the environment.
type Vault struct {
	store *store   // nil: none
	ring  keyStore // nil: none

	unusable error // why there is no store
	users    Users // nil: users have no secrets of their own

	reading sync.Mutex // one goroutine at a time reads the store; taken before mu
	mu      sync.RWMutex
	current *storeSnapshot    // the store, as last read; nil: not yet
	readErr error             // why it could not be read
	known   map[string]string // value → name, for every value worth scrubbing
	scrub   *scrubber         // rebuilt when known grows; nil when there is nothing to scrub
}

// Open makes a vault over the environment, the system's keyring and, unless
// path is empty, a store. The store's files lie at path with endings of their
// own: .box is the store, .key its key where no keyring holds it, .lock is held
// while somebody writes, and .json is the plain file of earlier versions, which
// is migrated.
//
// A store that is damaged, or that others may read, is an error. A store whose
// keyring is locked is not: its names have no value until the keyring is open.
func Open(path string) (*Vault, error) { return openWith(path, systemKeyring()) }

// Unusable makes a vault over the environment, in the place of one whose store cannot
// be used: what was stored is answered with the cause, never with "there is none".
func Unusable(cause error) *Vault {
	v, _ := openWith("", nil) // without a store nothing can fail
	v.unusable = cause
	return v
}

func openWith(path string, r keyStore) (*Vault, error) {
	const op = "secret.Open"
	v := &Vault{ring: r, known: map[string]string{}}
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); likelySecret(name) {
			v.addValue(name, value)
		}
	}
	v.scrub = newScrubber(v.known)
	if path == "" {
		return v, nil
	}
	v.store = newStore(path, r)
	err := v.store.migratePlain(op)
	if err == nil {
		err = v.refresh(op)
	}
	if err != nil && !errors.Is(err, errLocked) {
		return nil, err
	}
	return v, nil
}

// refresh reads the store again when it may have changed. Scrubbing does not
// wait for that.
func (v *Vault) refresh(op string) error {
	if v.store == nil || v.isCurrent() {
		return nil
	}
	v.reading.Lock()
	defer v.reading.Unlock()
	if v.isCurrent() {
		return nil // another goroutine has read it
	}
	r, err := v.store.load(op)
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.readErr = err
		return err
	}
	v.setSnapshot(r)
	return nil
}

// isCurrent reports whether the store is as it was read.
func (v *Vault) isCurrent() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.current != nil && v.readErr == nil && !v.store.changed(v.current.stamp)
}

// setSnapshot makes a snapshot the current one. If a newer one was there, the
// stamp shows it, and the store is read again.
func (v *Vault) setSnapshot(r storeSnapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.current, v.readErr = &r, nil
	grown := false
	for name, e := range r.Secrets {
		grown = v.addValue(name, string(e.Value)) || grown
	}
	if r.stamp != nil { // a tool that finds the key's file must not print it either
		grown = v.addValue("the store's key", r.key.text()) || grown
	}
	if grown {
		v.scrub = newScrubber(v.known)
	}
}

// stored is what the store holds, as last read.
func (v *Vault) stored() map[string]entry {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.current == nil {
		return nil
	}
	return v.current.Secrets // a snapshot never changes
}

// addValue adds a value to those scrubbed, and reports whether it is new. The
// lock is held.
func (v *Vault) addValue(name, value string) bool {
	if len(value) < MinScrubbed || v.known[value] != "" {
		return false
	}
	if v.known == nil {
		v.known = map[string]string{}
	}
	v.known[value] = name
	return true
}

// The bounds of what a store holds.
const (
	MaxValue   = 64 << 10 // bytes of one value
	maxSecrets = 1000
)

var validName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// check reports a name or a value that the store does not take.
func check(op, name string, value []byte) error {
	switch {
	case !validName.MatchString(name):
		name, _, _ = strings.Cut(name, "=") // a value may follow it
		return tool.Errorf(op, tool.Invalid, "%q is not the name of a secret", tool.Truncate(name)).
			WithHint("a name has up to 128 letters, digits, _, - and ., and begins with a letter or _")
	case len(value) == 0:
		return tool.Errorf(op, tool.Invalid, "the value of %s is empty", name).
			WithHint("to delete a secret: callgate secret delete %s", name)
	case len(value) > MaxValue:
		return tool.Errorf(op, tool.Invalid, "the value of %s has %d bytes, and %d are the most", name, len(value), MaxValue)
	}
	return nil
}

// Set stores a value. When Set returns, the value is durable and the scrubber
// knows it.
func (v *Vault) Set(name string, value []byte) error {
	const op = "secret.Set"
	if err := check(op, name, value); err != nil {
		return err
	}
	return v.change(op, func(all map[string]entry) error {
		all[name] = entry{slices.Clone(value), time.Now().UTC()}
		return nil
	})
}

// Delete removes a value from the store; NotFound if it has none of that name.
func (v *Vault) Delete(name string) error {
	const op = "secret.Delete"
	return v.change(op, func(all map[string]entry) error {
		if _, ok := all[name]; !ok {
			return tool.Errorf(op, tool.NotFound, "there is no secret %s in the store", tool.Truncate(name)).
				WithHint("callgate secret list shows all of them")
		}
		delete(all, name)
		return nil
	})
}

func (v *Vault) change(op string, change func(map[string]entry) error) error {
	if err := v.needStore(op); err != nil {
		return err
	}
	r, err := v.store.update(op, change)
	if err != nil {
		return err
	}
	v.setSnapshot(r)
	return nil
}

// The sources of secrets.
const (
	FromStore       = "store"
	FromEnvironment = "environment"
)

// Info is what anybody may know of a secret.
type Info struct {
	Name   string    `json:"name"`
	Source string    `json:"source"`
	Set    time.Time `json:"set,omitzero"` // in the store
}

// List returns the secrets in the store, and the variables of the environment
// that are named like one and that the store does not override. A keyring does
// not list what it holds.
func (v *Vault) List() ([]Info, error) {
	if v.unusable != nil {
		return nil, v.unusable
	}
	if err := v.refresh("secret.List"); err != nil {
		return nil, err
	}
	stored := v.stored()
	list := make([]Info, 0, len(stored))
	for name, e := range stored {
		list = append(list, Info{name, FromStore, e.Set})
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if _, ok := stored[name]; !ok && value != "" && likelySecret(name) {
			list = append(list, Info{Name: name, Source: FromEnvironment})
		}
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Problem returns why the store cannot be used at the moment, or nil.
func (v *Vault) Problem() error { return v.refresh("secret.Problem") }

func (v *Vault) scrubber() *scrubber {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.scrub
}

// Scrub returns text with every known value, in any of its usual encodings,
// replaced by its name. Text that holds none comes back as it is.
func (v *Vault) Scrub(text []byte) []byte { return v.scrubber().bytes(text) }

// ScrubString is Scrub for a string.
func (v *Vault) ScrubString(text string) string { return v.scrubber().string(text) }

// secretWords are parts of the names of variables that hold a secret.
var secretWords = []string{
	"SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "PRIVATE", "API_KEY", "APIKEY", "ACCESS_KEY", "AUTH_KEY", "JWT",
}

// likelySecret reports whether a variable's name says that its value is secret.
func likelySecret(name string) bool {
	name = strings.ToUpper(name)
	hasWord := func(word string) bool { return strings.Contains(name, word) }
	return slices.ContainsFunc(secretWords, hasWord) || strings.HasSuffix(name, "_KEY")
}
