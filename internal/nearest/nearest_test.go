package nearest_test

import (
	"strings"
	"testing"

	"callgate/internal/nearest"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"read", "read", 0}, {"raed", "read", 1}, {"rea", "read", 1}, {"reads", "read", 1},
		{"road", "read", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"abcdef", "uvwxyz", 5}, {"ca", "abc", 3},
		{strings.Repeat("x", 500), strings.Repeat("x", 499), 5},
	} {
		if got := nearest.Distance(c.a, c.b, 5); got != c.want {
			t.Errorf("Distance(%.10q, %.10q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if there, back := nearest.Distance(c.a, c.b, 5), nearest.Distance(c.b, c.a, 5); there != back {
			t.Errorf("Distance(%.10q, %.10q) is %d one way and %d the other", c.a, c.b, there, back)
		}
	}
}

func TestName(t *testing.T) {
	known := []string{"write", "read", "list", "ready"}
	for want, near := range map[string]string{"Raed": "read", "wriet": "write", "readx": "read", "zzzz": "", "": ""} {
		if got := nearest.Name(want, known); got != near {
			t.Errorf("Name(%q) = %q, want %q", want, got, near)
		}
	}
}
