package secret

import (
	"bytes"
	"slices"

	"callgate/tool"
)

// Seal encrypts data that is kept outside the store, with the store's key. The
// name says what the data is: only Unseal with the same name opens it, so sealed
// data cannot take the place of other sealed data. If there is no store yet, an
// empty one is made, and with it the key.
func (v *Vault) Seal(name string, plain []byte) ([]byte, error) {
	const op = "secret.Seal"
	if err := v.needStore(op); err != nil {
		return nil, err
	}
	if err := v.refresh(op); err != nil {
		return nil, err
	}
	now := v.snapshot()
	if now.stamp == nil {
		if err := v.change(op, func(map[string]entry) error { return nil }); err != nil {
			return nil, err
		}
		now = v.snapshot()
	}
	head := sealHead(dataMagic, now.where, now.key)
	return gcm(now.key).Seal(bytes.Clone(head), nil, plain, slices.Concat(head, []byte(name))), nil
}

// Unseal decrypts what Seal made under a name. Data that was changed, or sealed
// under another name or with another key, is Invalid.
func (v *Vault) Unseal(name string, data []byte) ([]byte, error) {
	const op = "secret.Unseal"
	if err := v.needStore(op); err != nil {
		return nil, err
	}
	s, err := parseSealed(data, dataMagic)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s cannot be opened: %w", name, err)
	}
	if s.where == byPlacement {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s was sealed with a key that is placed at each node", name)
	}
	k, err := v.store.keyFor(op, s)
	if err != nil {
		return nil, err
	}
	if k.id() != s.id {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s was sealed with another key than the one in %s",
			name, v.store.keyPath).WithHint("restore the key that belongs to it")
	}
	plain, err := gcm(k).Open(nil, nil, s.body, slices.Concat(s.head, []byte(name)))
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the sealed %s cannot be opened: %w", name, errDamaged)
	}
	return plain, nil
}

// snapshot is the store as last read.
func (v *Vault) snapshot() storeSnapshot {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return *v.current
}

func (v *Vault) needStore(op string) error {
	if v.store == nil {
		return tool.Errorf(op, tool.Unavailable, "there is no secret store here")
	}
	return nil
}
