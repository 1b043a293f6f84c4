//go:build !race

package embed_test

import "testing"

// Not under the race detector, where a pool forgets at random.
func TestEmbedAllocatesNothing(t *testing.T) {
	m := builtin(t)
	dst := make([]float32, m.Dim())
	for _, r := range requests {
		dst = m.Embed(dst, r.text)
		if n := testing.AllocsPerRun(50, func() { dst = m.Embed(dst, r.text) }); n >= 1 {
			t.Errorf("%s: %g allocations", r.name, n)
		}
	}
}
