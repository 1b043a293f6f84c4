package mask_test

import (
	"regexp"
	"strings"
	"testing"

	"callgate/internal/gate/mask"
)

var patterns = regexp.MustCompile(`(?s)sk-[a-z0-9]{8,}|password=\S+|-----BEGIN KEY-----.*?-----END KEY-----`)

func hide(text string) string { return patterns.ReplaceAllString(text, "[masked]") }

// TestStreamMasksOverBorders: however the output is cut, it is masked as the whole is.
func TestStreamMasksOverBorders(t *testing.T) {
	t.Parallel()
	const printed = "begin sk-abcdefgh12 end\n{\"password\": \"swordfish\"}\nplain\n" +
		"-----BEGIN KEY-----\nMIIB\nAAAA\n-----END KEY-----\nand password=swordfish"
	for size := 1; size < len(printed); size++ {
		var out strings.Builder
		s := mask.NewStream(hide, func(b []byte) { out.Write(b) })
		for rest := printed; rest != ""; {
			n := min(size, len(rest))
			_, _ = s.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		_ = s.Close()
		got := out.String()
		for _, secret := range []string{"sk-abc", "swordfish", "MIIB"} {
			if strings.Contains(got, secret) {
				t.Fatalf("in pieces of %d, %q is shown: %q", size, secret, got)
			}
		}
		if !strings.Contains(got, "begin [masked] end\n") || !strings.Contains(got, "plain\n[masked]\nand [masked]") {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
}

// TestStreamHoldsLittle: a line without end is passed on, and lines come at once.
func TestStreamHoldsLittle(t *testing.T) {
	t.Parallel()
	var passed int
	s := mask.NewStream(hide, func(b []byte) { passed += len(b) })
	_, _ = s.Write([]byte("line\n"))
	if passed != 5 {
		t.Errorf("%d bytes of a line", passed)
	}
	for range 100 {
		_, _ = s.Write([]byte(strings.Repeat("x ", 8<<10)))
	}
	if held := 5 + 100*16<<10 - passed; held > 100<<10 {
		t.Errorf("%d bytes are held", held)
	}
}
