package usersecrets

import (
	"slices"

	"callgate/internal/secret"
	"callgate/tool"
)

// sealer seals secrets, with the key that is placed at this node, or alone with that of the kernel's store. Who has the
// store's lock uses it.
type sealer struct {
	vault    *secret.Vault
	file     string
	isShared bool

	placed *secret.PlacedKey // nil: none was found yet
	err    error             // why what is placed cannot be read, while none was found
}

// look looks whether the key that is placed is another by now. One that cannot be read, or is gone, stays.
func (s *sealer) look() {
	placed, err := secret.ReadPlaced(s.file)
	switch {
	case err == nil && placed != nil:
		s.placed, s.err = placed, nil
	case s.placed == nil:
		s.err = err
	}
}

// keyTexts are the placed key and the earlier ones, to be masked.
func (s *sealer) keyTexts() []string {
	if s.placed == nil {
		return nil
	}
	return s.placed.Texts()
}

// seal seals a value. Others are names of the placed keys that are in use: another than those would be no good at the
// nodes that have them.
func (s *sealer) seal(name string, value []byte, others []string) ([]byte, error) {
	placed := s.placed
	switch {
	case s.err != nil:
		return nil, s.err
	case placed == nil && s.isShared:
		return nil, s.missing("this node shares its database with others, and has no key for the secrets of users")
	case placed == nil && len(others) > 0:
		return nil, s.missing("the secrets of users are sealed with a key that is not here (" + others[0] + ")")
	case placed == nil:
		return s.vault.Seal(name, value)
	}
	known := func(id string) bool { return slices.Contains(placed.IDs(), id) }
	if len(others) > 0 && !slices.ContainsFunc(others, known) {
		return nil, tool.Errorf("usersecrets", tool.Unavailable,
			"this node's key for the secrets of users is %s, and the others seal with %s", placed.ID(), others[0]).
			WithHint("give this node the key that the others have; where that is lost, remove all that it sealed")
	}
	return placed.Seal(name, value), nil
}

func (s *sealer) unseal(name string, data []byte) ([]byte, error) {
	id := secret.PlacedID(data)
	if id == "" {
		return s.vault.Unseal(name, data)
	}
	placed := s.placed
	switch {
	case s.err != nil:
		return nil, s.err
	case placed == nil:
		return nil, s.missing("the secrets of users are sealed with a key that is not at this node (" + id + ")")
	}
	return placed.Unseal(name, data)
}

func (s *sealer) missing(what string) error {
	return tool.Errorf("usersecrets", tool.Unavailable, "%s", what).
		WithHint("put the same 64 hexadecimal digits (openssl rand -hex 32) at each node into %s, mode 600, or into its "+
			"variable %s", s.file, secret.PlacedVariable)
}
