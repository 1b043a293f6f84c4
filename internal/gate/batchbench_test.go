package gate_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"callgate/internal/gate"
	"callgate/tool"
)

// BenchmarkBatch is what one answer costs whose calls touch nothing in common.
func BenchmarkBatch(b *testing.B) {
	for _, calls := range []int{1, 6} {
		b.Run(fmt.Sprintf("independent=%d", calls), func(b *testing.B) {
			h := open(b, gate.Limits{})
			r := reads
			r.Effects = []tool.Effect{{Resource: "file:{path}", Mode: tool.S}, {Resource: "thing:{query}", Mode: tool.S}}
			h.add(b, "bench:read@1.0.0", typical, r, noop)
			var asked []gate.CallRequest
			for i := range calls {
				args := fmt.Sprintf(`{"path":"folder/%d/file.txt","query":"q%d","limit":50,"mode":"content"}`, i, i)
				asked = append(asked, gate.CallRequest{Name: "bench.read", Args: json.RawMessage(args)})
			}
			caller := h.caller()
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range h.CallAll(b.Context(), caller, asked, nil) {
					if r.Status != tool.Success {
						b.Fatal(r.Summary)
					}
				}
			}
			b.StopTimer()
			ok(b, h.Journal.Flush(b.Context()))
		})
	}
}
