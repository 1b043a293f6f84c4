package condition_test

import (
	"testing"

	"callgate/internal/condition"
)

func BenchmarkEval(b *testing.B) {
	c, err := condition.Compile("result.count > 5 and result.items[*].state contains failed", watcher)
	if err != nil {
		b.Fatal(err)
	}
	in := values(b, sample)
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := c.Eval(in); !ok || err != nil {
			b.Fatal(err)
		}
	}
}
