package rag_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"callgate/internal/module/rag"
)

// library10000 writes documents that are 10,000 chunks of about 900 bytes.
func library10000(b *testing.B) *fixture {
	files := map[string]string{}
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("quay boat fee night lamp storm diesel pier crew tide rope anchor harbour master pilot chart " +
		"channel buoy depth signal engine keel sail wind current mooring customs cargo crane ferry ticket lighthouse")
	for i := range 100 {
		var text strings.Builder
		for j := range 100 {
			fmt.Fprintf(&text, "## Part %d of %d\n\n", j, i)
			for range 130 {
				fmt.Fprintf(&text, "%s%d ", words[r.IntN(len(words))], r.IntN(30))
			}
			text.WriteString("\n\n")
		}
		files[fmt.Sprintf("docs/%d.md", i)] = text.String()
	}
	return newFixture(b, rag.Module(), files)
}

func BenchmarkIngest10000(b *testing.B) {
	f := library10000(b)
	for b.Loop() {
		var got report
		f.Call("ingest_folder", `{"path": "docs"}`, &got)
		if got.Chunks != 10_000 {
			b.Fatalf("%+v", got)
		}
		f.Call("delete", `{"base": "main"}`)
	}
}

func BenchmarkQuery10000(b *testing.B) {
	f := library10000(b)
	f.Call("ingest_folder", `{"path": "docs"}`)
	f.Call("query", `{"query": "warm"}`)
	for b.Loop() {
		f.Call("query", `{"query": "how deep is the channel at the lighthouse buoy7"}`)
	}
}
