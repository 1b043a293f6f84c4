package secret

import (
	"errors"
	"os"

	"callgate/internal/secret/scope"
	"callgate/tool"

	"github.com/zalando/go-keyring"
)

// Users gives the secrets that users have of their own. It answers with the value of exactly that user, in exactly that
// app ("": in every app), or with an error.
type Users interface {
	Value(user, app, name string) (string, error)
}

// ServeUsers has the vault give users their own secrets. It is called before the vault is asked for any.
func (v *Vault) ServeUsers(u Users) { v.users = u }

// Values returns what the kernel's own user is given: see ValuesFor.
func (v *Vault) Values(refs []string) (map[string]string, error) { return v.ValuesFor("", refs) }

// ValuesFor returns the values of exactly these references, as package scope writes them, for a user by their name; "":
// for the kernel's own. What is a user's own comes from that user's secrets alone. All else, and what is the own of the
// kernel's own user, comes from the store first, then from the environment, then from the keyring. A reference without
// a value is an error that says how to set one.
func (v *Vault) ValuesFor(user string, refs []string) (map[string]string, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	const op = "secret.Values"
	values := make(map[string]string, len(refs))
	for _, text := range refs {
		value, err := v.value(op, user, scope.Parse(text))
		if err != nil {
			return nil, err
		}
		values[text] = value
	}
	return values, nil
}

func (v *Vault) value(op, user string, r scope.Ref) (string, error) {
	if user == "" || !r.OfUser() {
		if err := v.refresh(op); err != nil {
			return "", err
		}
		return v.lookup(op, r.Stored())
	}
	if v.users == nil {
		return "", tool.Errorf(op, tool.Unavailable, "users have no secrets of their own here")
	}
	value, err := v.users.Value(user, r.App, r.Name)
	if err == nil {
		v.Know(r.Name, value)
	}
	return value, err
}

func (v *Vault) lookup(op, name string) (string, error) {
	if name == PlacedVariable {
		return "", tool.Errorf(op, tool.Denied, "%s is the kernel's own, and no tool is given it", name)
	}
	if e, ok := v.stored()[name]; ok {
		return string(e.Value), nil
	}
	value, err := os.Getenv(name), error(nil)
	if value == "" && v.ring != nil && validName.MatchString(name) {
		value, err = v.ring.Get(ringSecrets, name)
	}
	if value == "" || err != nil {
		missing := tool.Errorf(op, tool.Unavailable, "the secret %s has no value", tool.Truncate(name)).
			WithHint("set it with: callgate secrets set %s", tool.Truncate(name))
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			missing.Message += ", and the keyring cannot be asked for it"
			missing.Err = err
		}
		return "", missing
	}
	v.Know(name, value)
	return value, nil
}

// Know has a value scrubbed that the vault does not hold, such as a password of the kernel's own.
func (v *Vault) Know(name, value string) { v.KnowAll(map[string]string{value: name}) }

// KnowAll has values scrubbed that the vault does not hold; they have names.
func (v *Vault) KnowAll(names map[string]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	grown := false
	for value, name := range names {
		grown = v.addValue(name, value) || grown
	}
	if grown {
		v.scrub = newScrubber(v.known)
	}
}

// CheckValue returns an error unless a secret can have a name and a value.
func CheckValue(name string, value []byte) error { return check("secret.Set", name, value) }
