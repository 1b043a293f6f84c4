package element

import "testing"

func TestKeyNames(t *testing.T) {
	for name, want := range map[string]bool{"Enter": true, "enter": true, "Escape": true, "ArrowDown": true, "PageDown": true, "F5": true, "a": true, "é": false, "Space": true, "Nokey": false, "": false, "+": true} {
		if _, ok := keyNamed(name); ok != want {
			t.Errorf("the key %q: %v", name, ok)
		}
	}
}
