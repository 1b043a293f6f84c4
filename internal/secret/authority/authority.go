// Package authority signs and verifies what the nodes of a cluster store and send, with a
// key derived from the one that an operator places at each node.
//
// # Law
//
// The database stores authority and does not grant it. What gives somebody a right (a
// token, a lasting grant, an answer to an approval, a task with its asker, the address
// and certificate of a node) carries a code that only a holder of the key can make. The
// code binds the content and what it means: the table, the node that has it, its name.
// Content without a valid code counts as absent, and is reported.
//
// A code proves that a node wrote the content at some time, not that it is the newest:
// with write access to the database, older rows can be put back and rows can be removed.
//
// There may be several keys: the first signs, and all verify.
package authority

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"

	"callgate/internal/secret"
)

// Key authenticates. A nil key signs nothing and believes everything: it is that of a
// kernel that is alone.
type Key struct{ all []one }

type one struct {
	id  [idSize]byte
	mac []byte
}

const (
	idSize  = 8
	purpose = "callgate cluster authority 1"
)

// New derives the key of a cluster from the keys that are placed at a node; nil of none.
func New(placed *secret.PlacedKey) *Key {
	if placed == nil {
		return nil
	}
	k := &Key{}
	for _, mac := range placed.Derive(purpose) {
		sum := sha256.Sum256(append([]byte("callgate cluster key\n"), mac...))
		k.all = append(k.all, one{[idSize]byte(sum[:]), mac})
	}
	return k
}

// ID names the key that signs without revealing it.
func (k *Key) ID() string {
	if k == nil {
		return ""
	}
	return hex.EncodeToString(k.all[0].id[:])
}

// IDOf names the key that made a code, or returns "" for a text that is no code.
func IDOf(code []byte) string {
	if len(code) != idSize+sha256.Size {
		return ""
	}
	return hex.EncodeToString(code[:idSize])
}

// Sign makes the code of a content, which is a list of parts, for one use. Nil parts are
// others than empty ones. A nil key makes none.
func (k *Key) Sign(use string, parts ...[]byte) []byte {
	if k == nil {
		return nil
	}
	return k.all[0].code(use, parts)
}

// Verify reports whether one of the keys made the code. A nil key believes everything.
func (k *Key) Verify(code []byte, use string, parts ...[]byte) bool {
	if k == nil {
		return true
	}
	for i := range k.all {
		if subtle.ConstantTimeCompare(code, k.all[i].code(use, parts)) == 1 {
			return true
		}
	}
	return false
}

// IsNewest reports whether the code says that the key that signs made it.
func (k *Key) IsNewest(code []byte) bool { return k == nil || IDOf(code) == k.ID() }

// Earlier are the beginnings of the codes that the other keys made, which only verify.
func (k *Key) Earlier() [][]byte {
	if k == nil {
		return [][]byte{}
	}
	return k.All()[1:]
}

// All are the beginnings of the codes of all keys.
func (k *Key) All() [][]byte {
	all := [][]byte{}
	if k != nil {
		for i := range k.all {
			all = append(all, k.all[i].id[:])
		}
	}
	return all
}

func (o *one) code(use string, parts [][]byte) []byte {
	h := hmac.New(sha256.New, o.mac)
	write := func(part []byte) {
		var head [9]byte // a part that is there is never taken for none, and no two lists of parts are alike
		if part != nil {
			head[0] = 1
		}
		binary.BigEndian.PutUint64(head[1:], uint64(len(part)))
		_, _ = h.Write(head[:]) // it never fails
		_, _ = h.Write(part)
	}
	write([]byte(use))
	for _, part := range parts {
		write(part)
	}
	return h.Sum(append([]byte{}, o.id[:]...))
}
