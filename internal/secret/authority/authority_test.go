package authority_test

import (
	"strings"
	"testing"

	"callgate/internal/secret"
	"callgate/internal/secret/authority"
)

// keyOf is the key of a node at which these were placed.
func keyOf(t *testing.T, texts ...string) *authority.Key {
	t.Helper()
	t.Setenv(secret.PlacedVariable, strings.Join(texts, " "))
	placed, err := secret.ReadPlaced("")
	if err != nil {
		t.Fatal(err)
	}
	return authority.New(placed)
}

var first, second = strings.Repeat("a1", 32), strings.Repeat("b2", 32)

// A code is good for the very parts, in their order, for one use and of one key.
func TestCodeBindsAll(t *testing.T) {
	k := keyOf(t, first)
	code := k.Sign("document", []byte("tokens"), []byte("abc"), nil)
	if !k.Verify(code, "document", []byte("tokens"), []byte("abc"), nil) {
		t.Fatal("its own code is not believed")
	}
	for name, believed := range map[string]bool{
		"another use":   k.Verify(code, "task", []byte("tokens"), []byte("abc"), nil),
		"other parts":   k.Verify(code, "document", []byte("tokens"), []byte("abd"), nil),
		"moved bounds":  k.Verify(code, "document", []byte("tokensa"), []byte("bc"), nil),
		"an empty part": k.Verify(code, "document", []byte("tokens"), []byte("abc"), []byte{}),
		"one part less": k.Verify(code, "document", []byte("tokens"), []byte("abc")),
		"one part more": k.Verify(code, "document", []byte("tokens"), []byte("abc"), nil, nil),
		"no code":       k.Verify(nil, "document", []byte("tokens"), []byte("abc"), nil),
		"a cut code":    k.Verify(code[:len(code)-1], "document", []byte("tokens"), []byte("abc"), nil),
		"another key":   keyOf(t, second).Verify(code, "document", []byte("tokens"), []byte("abc"), nil),
	} {
		if believed {
			t.Errorf("%s is believed", name)
		}
	}
}

// Of several keys the first signs, and all verify: so keys are changed node by node.
func TestKeysAreChanged(t *testing.T) {
	old, both, turned, last := keyOf(t, first), keyOf(t, first, second), keyOf(t, second, first), keyOf(t, second)
	before, after := old.Sign("x", []byte("y")), turned.Sign("x", []byte("y"))
	for name, believed := range map[string]bool{
		"the old one by both": both.Verify(before, "x", []byte("y")), "the old one by the turned": turned.Verify(before, "x", []byte("y")),
		"the new one by both": both.Verify(after, "x", []byte("y")), "the new one by the last": last.Verify(after, "x", []byte("y")),
	} {
		if !believed {
			t.Errorf("%s is not believed", name)
		}
	}
	if last.Verify(before, "x", []byte("y")) || old.Verify(after, "x", []byte("y")) {
		t.Error("a key that is not placed is believed")
	}
	if !old.IsNewest(before) || turned.IsNewest(before) || turned.ID() != authority.IDOf(after) {
		t.Error("the newest key is another")
	}
}

// A kernel that is alone has no key: nothing is signed, and everything is believed.
func TestNoKey(t *testing.T) {
	k := authority.New(nil)
	if k != nil || k.Sign("x") != nil || !k.Verify(nil, "x", []byte("anything")) || k.ID() != "" || !k.IsNewest(nil) {
		t.Error("no key is one")
	}
}
