package console_test

import (
	"strconv"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// BenchmarkPages is how long pages take with a million records in the journal.
func BenchmarkPages(b *testing.B) {
	s := open(b, folder(b, map[string]string{"a.txt": "one\n"}))
	for i := range 1_000_000 {
		kerneltest.OK(b, s.kernel.Journal.Append(journal.Record{
			Kind: journal.Ended, Call: "c" + strconv.Itoa(i), Name: "filesystem.read", Tool: "filesystem:read@1.0.0",
			Principal: &tool.Principal{User: "ada", Session: "s1"},
			Ask:       &journal.Ask{Verdict: journal.Allow, Args: []byte(`{"path":"a.txt"}`)},
			End:       &journal.End{Status: tool.Success, Summary: "a.txt: 1 line"},
		}))
	}
	kerneltest.OK(b, s.kernel.Journal.Flush(b.Context()))
	for name, page := range map[string]string{
		"now": "/", "journal": "/journal", "nothing fits": "/journal?tool=nosuch", "old": "/journal?before=500000",
		"call": "/calls/c500000", "search": "/tools?q=lire",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.get(page)
			}
		})
	}
}
