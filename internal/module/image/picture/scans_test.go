package picture_test

import (
	"bytes"
	"image/jpeg"
	"strings"
	"testing"

	"callgate/internal/module/image/picture"
)

// scans is a progressive JPEG that goes over its pixels so often, with nothing new.
func scans(n int) []byte {
	head := "\xff\xd8\xff\xc2\x00\x0b\x08\x00\x40\x00\x40\x01\x01\x11\x00" + // 64 × 64, progressive, one component
		"\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64) +
		"\xff\xc4\x00\x14\x00\x01" + strings.Repeat("\x00", 15) + "\x00" + // one code, of one bit: no difference
		"\xff\xc4\x00\x14\x10\x01" + strings.Repeat("\x00", 15) + "\x00"
	first := "\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00" + strings.Repeat("\x00", 16)
	again := "\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00" + strings.Repeat("\x00", 16)
	return []byte(head + first + strings.Repeat(again, n-1) + "\xff\xd9")
}

// TestScans: a JPEG that goes over its pixels more often than any is not decoded.
func TestScans(t *testing.T) {
	t.Parallel()
	if _, err := jpeg.Decode(bytes.NewReader(scans(1000))); err != nil {
		t.Fatalf("the decoder would not take it: the test is void: %v", err)
	}
	if _, err := picture.Decode(scans(100), 10_000); err != nil {
		t.Errorf("100 scans: %v", err)
	}
	if _, err := picture.Decode(scans(101), 10_000); err == nil || !strings.Contains(err.Error(), "scans") {
		t.Errorf("101 scans: %v", err)
	}
	inComment := append([]byte("\xff\xd8\xff\xfe\x04\x02"), strings.Repeat("\xff\xda", 512)...)
	if _, err := picture.Decode(append(inComment, scans(2)[2:]...), 10_000); err != nil {
		t.Errorf("markers in a comment: %v", err)
	}
}
