package mac_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"callgate/internal/protocol/mac"
)

// A code is the HMAC, for keys of any length.
func TestIsHMAC(t *testing.T) {
	for _, length := range []int{0, 1, 26, 63, 64, 65, 200} {
		key := strings.Repeat("k", length)
		for _, use := range []string{"number", "call", "session", strings.Repeat("u", 100)} {
			for _, n := range []uint64{0, 1, 1 << 63} {
				h := hmac.New(sha256.New, []byte(key))
				h.Write(binary.BigEndian.AppendUint64([]byte(use+"\x00"), n))
				if got := mac.Of(key, use, n); !hmac.Equal(got[:], h.Sum(nil)) {
					t.Errorf("a key of %d bytes, %s %d: %x", length, use, n, got)
				}
			}
		}
	}
}
