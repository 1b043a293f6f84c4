package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// MaxWire is the longest wire name, the limit of the strictest provider.
const MaxWire = 64

const (
	wireDot      = "__"
	wireHash     = 8 // hex digits of the suffix of a name that cannot be written plainly
	wireHashMost = 32
)

// WireName writes a dotted name in the alphabet that providers accept.
// A name that reads back exactly is written plainly (fs.read is fs__read).
// Any other (it holds "__", is too long, or has a letter outside the alphabet)
// gets a suffix drawn from a hash of the whole name, so that two names never
// meet by accident; such a wire name reads back only through a [WireTable].
func WireName(dotted string) string {
	plain := strings.ReplaceAll(dotted, ".", wireDot)
	if back, ok := FromWire(plain); ok && back == dotted {
		return plain
	}
	return hashedWire(dotted, wireHash)
}

// FromWire reads a plainly written wire name. It reports false for a name
// that no plain writing produces; a hashed one needs the table that made it.
func FromWire(wire string) (dotted string, ok bool) {
	if wire == "" || len(wire) > MaxWire || looksHashed(wire) {
		return "", false
	}
	for i := 0; i < len(wire); i++ {
		if !isWireByte(wire[i]) {
			return "", false
		}
	}
	dotted = strings.ReplaceAll(wire, wireDot, ".")
	return dotted, strings.ReplaceAll(dotted, ".", wireDot) == wire
}

// looksHashed reports whether a plain name would read like a hashed one
// (_ and eight hex digits at its end); such names are hashed too, so that the
// two kinds never meet.
func looksHashed(wire string) bool {
	i := len(wire) - wireHash - 1
	if i < 0 || wire[i] != '_' {
		return false
	}
	for _, c := range []byte(wire[i+1:]) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

func hashedWire(dotted string, digits int) string {
	sum := sha256.Sum256([]byte(dotted))
	suffix := "_" + hex.EncodeToString(sum[:])[:digits]
	body := make([]byte, 0, MaxWire)
	for i := 0; i < len(dotted) && len(body) < MaxWire-len(suffix); i++ {
		switch c := dotted[i]; {
		case c == '.' && len(body)+len(wireDot) <= MaxWire-len(suffix):
			body = append(body, wireDot...)
		case isWireByte(c):
			body = append(body, c)
		default:
			body = append(body, '-')
		}
	}
	return string(body) + suffix
}

func isWireByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// WireTable is the two-way map between the dotted names of one surface and
// their wire names. It is immutable, and the same set of names gives the same
// table in whatever order they come.
type WireTable struct {
	toWire   map[string]string
	toDotted map[string]string
}

// NewWireTable gives each name its wire name. Should two names still collide,
// the later in order takes a longer hash.
func NewWireTable(dotted []string) *WireTable {
	names := slices.Clone(dotted)
	slices.Sort(names)
	names = slices.Compact(names)
	t := &WireTable{make(map[string]string, len(names)), make(map[string]string, len(names))}
	for _, name := range names {
		wire := WireName(name)
		for digits := wireHash; t.toDotted[wire] != ""; digits += wireHash {
			wire = hashedWire(name, min(digits+wireHash, wireHashMost))
		}
		t.toWire[name], t.toDotted[wire] = wire, name
	}
	return t
}

// Wire returns the wire name of a dotted one.
func (t *WireTable) Wire(dotted string) (string, bool) {
	wire, ok := t.toWire[dotted]
	return wire, ok
}

// Dotted returns the dotted name behind a wire name.
func (t *WireTable) Dotted(wire string) (string, bool) {
	dotted, ok := t.toDotted[wire]
	return dotted, ok
}
