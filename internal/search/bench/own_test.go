package bench_test

import (
	"fmt"
	"testing"
	"time"

	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/learned"
	"callgate/tool"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	at := time.Now()
	pair := func(request, name string, age time.Duration) learned.Pair {
		return learned.Pair{Request: request, Tool: name, Last: at.Add(-age)}
	}
	list, gone := bench.Requests(
		[]learned.Pair{pair("sort my tickets", "desk.triage", time.Hour), pair("write to Ada", "mail.send", 0), pair("x y", "old.gone", 0)},
		[]learned.Pair{pair("Sort my tickets!", "desk.list", 0), pair("what is open", "desk.list", 0), pair("what is open", "desk.list", 0)},
		func(name string) bool { return name != "old.gone" })
	want := "[{write to Ada [mail.send] true} {sort my tickets [desk.triage desk.list] true} {what is open [desk.list] false}]"
	if got := fmt.Sprint(list); got != want || gone != 1 {
		t.Errorf("%s, %d gone", got, gone)
	}
}

// A learned request does not answer itself, and helps the others.
func TestOwnLeavesOutWhatIsAsked(t *testing.T) {
	t.Parallel()
	model, err := embed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var tools []*tool.Tool
	for i := range 12 { // the one that is meant has nothing in common with the request
		tools = append(tools, &tool.Tool{ID: tool.ID{Namespace: "x", Name: fmt.Sprint("t", i)},
			Spec: tool.Spec{Description: fmt.Sprintf("Operation number %d.", i)}})
	}
	measure := func(examples ...string) bench.Measured {
		m, err := bench.Own{
			Tools: tools, Learned: map[string][]string{"x.t7": examples},
			Asked: []bench.Asked{{Request: "water the plants", Tools: []string{"x.t7"}, Learned: true}},
		}.Measure(t.Context(), bench.Way{Name: "both", Embedder: search.Static{Model: model}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	alone := measure("Water the plants!")
	if none := measure(); alone.MRR != none.MRR {
		t.Errorf("a request answers itself: %+v, and %+v without", alone.MRR, none.MRR)
	}
	if helped := measure("Water the plants!", "give water to my plants"); helped.Recall1.Mean != 1 || helped.Recall1.Low > 0.5 {
		t.Errorf("with its like: %+v", helped.Recall1)
	}
}
