package console_test

import (
	"net/url"
	"strconv"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/kernel"
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

// BenchmarkType is a letter of a search as one types, over 13,000 tools: the page as the script asks for it.
func BenchmarkType(b *testing.B) {
	things := []string{"invoice", "customer", "ticket", "order", "calendar", "message", "contact", "backup", "branch", "report"}
	acts := []string{"create", "delete", "list", "update", "export", "archive", "share", "approve", "search", "restore"}
	var tools []*tool.Tool
	for i := range 13_000 {
		thing, act := things[i%len(things)], acts[i/len(things)%len(acts)]
		t := kerneltest.NewTool(b, "service"+strconv.Itoa(i/100)+"."+act+"_"+thing, tool.Runtime{SideEffect: tool.Read}, nil)
		t.Spec.Description = "To " + act + " an " + thing + " of the customer's account number " + strconv.Itoa(i) + "."
		tools = append(tools, t)
	}
	s := openWith(b, folder(b, nil), kernel.Config{State: kerneltest.StateDir(b), Tools: tools})
	const words = "supprimer une facture du client"
	s.get("/tools?q=" + url.QueryEscape(words)) // the index is made with the first search
	for b.Loop() {
		for n := range len(words) {
			s.get("/tools?q=" + url.QueryEscape(words[:n+1]))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(words)), "ms/letter")
}
