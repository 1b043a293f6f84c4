// Package mac makes the codes by which numbers are known to come from who has the key. It is HMAC-SHA256, written out:
// each call of a bridge has three codes, and crypto/hmac allocates for each.
package mac

import (
	"crypto/sha256"
	"encoding/binary"
)

// Size is the size of a code in bytes.
const Size = sha256.Size

// Of is the HMAC-SHA256 of a use and a number, with a zero between them.
func Of(secret, use string, n uint64) [Size]byte {
	var key, pad [sha256.BlockSize]byte
	if len(secret) > len(key) {
		long := sha256.Sum256([]byte(secret))
		copy(key[:], long[:])
	} else {
		copy(key[:], secret)
	}
	for i := range key {
		pad[i] = key[i] ^ 0x36
	}
	var buffer [sha256.BlockSize + 32]byte
	text := append(append(append(buffer[:0], pad[:]...), use...), 0)
	inner := sha256.Sum256(binary.BigEndian.AppendUint64(text, n))
	for i := range key {
		pad[i] = key[i] ^ 0x5c
	}
	return sha256.Sum256(append(append(buffer[:0], pad[:]...), inner[:]...))
}
