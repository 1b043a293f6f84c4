//go:build !race

package tokenizer_test

import (
	"testing"

	"callgate/internal/search/embed/tokenizer"
)

// Not under the race detector, where a pool forgets at random.
func TestAppendAllocatesNothing(t *testing.T) {
	for name, tok := range map[string]*tokenizer.Tokenizer{"own": shipped(t), "word pieces": parse(t, "{"+bert+","+wordPiece+"}")} {
		dst := make([]int32, 0, 256)
		text := "Ouvre le fichier «ﬁche» unaffable 中文 hello ไฟล์ทั้งหมด, émoji 🎉"
		for range 3 {
			dst = tok.Append(dst[:0], text)
		}
		if n := testing.AllocsPerRun(50, func() { dst = tok.Append(dst[:0], text) }); n >= 1 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}
