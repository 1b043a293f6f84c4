package protocol

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"callgate/internal/protocol/mac"
)

// NewCallID makes the ID of a call, for a client that names its calls.
func NewCallID() string { return BridgeKey(rand.Text()).CallID(0) }

// IsCallID reports whether a text may be the ID of a call.
func IsCallID(id string) bool {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	return len(id) > 1 && len(id) <= 16 && id[0] == 'c' && strings.Trim(id, letters) == ""
}

// MetaCall is the field of a request's _meta in which a bridge numbers a call.
const MetaCall = "callgate/call"

// BridgeHeader is in the answer to a bridge whose numbers the kernel reads.
const BridgeHeader = "Callgate-Bridge-Calls"

// BridgeKey is what a bridge and its kernels know and its client does not. With it a
// bridge numbers the calls of its client: after a crash it brings the same number to
// the next kernel, which finds in its journal what became of the call. A client cannot
// make up a number, nor use one twice: it does not know the key.
type BridgeKey string

// NewBridgeKey makes the key of a bridge.
func NewBridgeKey() BridgeKey { return BridgeKey(rand.Text()) }

// Number returns the number of a call, signed.
func (k BridgeKey) Number(n uint64) string {
	sum := k.sum("number", n)
	return strconv.FormatUint(n, 10) + "." + hex.EncodeToString(sum[:16])
}

// Parse reads a number that this key signed.
func (k BridgeKey) Parse(signed string) (n uint64, ok bool) {
	text, _, _ := strings.Cut(signed, ".")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && k != "" && hmac.Equal([]byte(k.Number(n)), []byte(signed))
}

// CallID is the ID of the call with a number.
func (k BridgeKey) CallID(n uint64) string { return k.id("c", "call", n) }

// SessionID is the ID of the session of the bridge's client, at every kernel.
func (k BridgeKey) SessionID() string { return k.id("s", "session", 0) }

func (k BridgeKey) id(prefix, use string, n uint64) string {
	sum := k.sum(use, n)
	return prefix + strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 36)
}

func (k BridgeKey) sum(use string, n uint64) [mac.Size]byte { return mac.Of(string(k), use, n) }

// String keeps the key out of printed values.
func (k BridgeKey) String() string { return "(the key of a bridge)" }
