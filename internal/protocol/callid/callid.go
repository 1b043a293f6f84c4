// Package callid has the IDs of calls that a client names before they are made, and the numbers from which a bridge and
// its kernels make them.
package callid

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"callgate/internal/protocol/mac"
)

// New makes the ID of a call, for a client that names its calls.
func New() string { return Key(rand.Text()).CallID(0) }

// Is reports whether a text may be the ID of a call.
func Is(id string) bool {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	return len(id) > 1 && len(id) <= 16 && id[0] == 'c' && strings.Trim(id, letters) == ""
}

// Meta is the field of a request's _meta in which a bridge numbers a call.
const Meta = "callgate/call"

// Header is in the answer to a bridge whose numbers the kernel reads. Its value says which IDs the kernel gives
// calls for them: two kernels that say the same find each other's.
const Header = "Callgate-Bridge-Calls"

// Scheme is that value for CallID as it is here. It was 1 while each ID was a code of its own.
const Scheme = "2"

// Key is what a bridge and its kernels know and its client does not. With it a
// bridge numbers the calls of its client: after a crash it brings the same number to
// the next kernel, which finds in its journal what became of the call. A client cannot
// make up a number, nor use one twice: it does not know the key.
type Key string

// inOrder begins a key whose calls have IDs in the order of their numbers. Without it the key is of an earlier bridge,
// and each ID is a code of its own: kernels give a bridge the same IDs as long as it runs, whatever their version.
const inOrder = "o"

// NewKey makes the key of a bridge.
func NewKey() Key { return inOrder + Key(rand.Text()) }

// Number returns the number of a call, signed.
func (k Key) Number(n uint64) string {
	sum := k.sum("number", n)
	return strconv.FormatUint(n, 10) + "." + hex.EncodeToString(sum[:16])
}

// Parse reads a number that this key signed.
func (k Key) Parse(signed string) (n uint64, ok bool) {
	text, _, _ := strings.Cut(signed, ".")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && k != "" && hmac.Equal([]byte(k.Number(n)), []byte(signed))
}

// CallID is the ID of the call with a number. The calls of a bridge have IDs one after the other, from a random one on:
// so what the journal has of them lies together, and a batch of records changes few pages of its index.
func (k Key) CallID(n uint64) string {
	if strings.HasPrefix(string(k), inOrder) {
		return id("c", k.first("call", 0)+n)
	}
	return id("c", k.first("call", n))
}

// SessionID is the ID of the session of the bridge's client, at every kernel.
func (k Key) SessionID() string { return id("s", k.first("session", 0)) }

func id(prefix string, n uint64) string {
	return string(strconv.AppendUint(append(make([]byte, 0, 16), prefix...), n, 36))
}

// first is the beginning of a code.
func (k Key) first(use string, n uint64) uint64 {
	sum := k.sum(use, n)
	return binary.BigEndian.Uint64(sum[:])
}

func (k Key) sum(use string, n uint64) [mac.Size]byte { return mac.Of(string(k), use, n) }

// String keeps the key out of printed values.
func (k Key) String() string { return "(the key of a bridge)" }
