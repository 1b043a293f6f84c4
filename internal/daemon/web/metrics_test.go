package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol/activity"
	"callgate/internal/token"
)

// value is the sample of a family that has all of some label values.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		have := map[string]bool{}
		for _, l := range m.GetLabel() {
			have[l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && have[l]
		}
		if !all {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.GetCounter().GetValue()
		case m.Gauge != nil:
			return m.GetGauge().GetValue()
		default:
			return float64(m.GetHistogram().GetSampleCount())
		}
	}
	return 0
}

// Whoever may look may read the metrics, in Prometheus' own format, and they say what the journal says.
func TestMetricsAgreeWithTheJournal(t *testing.T) {
	f := serve(t)
	operator, viewer := f.token(token.Operator), f.token(token.Viewer)
	secret := "hunter2-in-an-argument"
	for range 3 {
		f.ask(operator, "POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"hello.txt"}}`)
	}
	f.ask(operator, "POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"`+secret+`"}}`)
	f.ask(operator, "POST", "/v1/tools/filesystem.read/call", `{"args":{"nonsense":true}}`)
	f.ask(operator, "POST", "/v1/tools/no.such_tool/call", `{"args":{}}`)
	f.ask(operator, "POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made"},"no_wait":true}`)
	if status, _ := f.ask("", "GET", "/metrics", ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	profiled := f.token(token.Operator, func(w *token.Token) { w.Profile = "small" })
	if status, _ := f.ask(profiled, "GET", "/metrics", ""); status < 400 {
		t.Errorf("with a token of a profile: %d", status)
	}
	status, text := f.ask(viewer, "GET", "/metrics", "")
	if status != http.StatusOK || strings.Contains(text, secret) {
		t.Fatalf("%d\n%s", status, text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	kerneltest.OK(t, err)
	ended, refused := map[string]float64{}, map[string]float64{}
	records, err := f.kernel.Journal.Read(f.Context(), journal.Query{})
	kerneltest.OK(t, err)
	for _, r := range records {
		switch {
		case r.End != nil:
			ended[string(r.End.Status)]++
		case r.Ask != nil && r.Ask.Verdict == journal.Refuse:
			refused[string(r.Ask.Error)]++
		}
	}
	for outcome, want := range ended {
		if got := value(t, families, "callgate_calls_total", "filesystem", outcome); got != want {
			t.Errorf("calls that ended with %s: %v, the journal has %v", outcome, got, want)
		}
	}
	for kind, want := range refused {
		if got := value(t, families, "callgate_refusals_total", kind); got != want {
			t.Errorf("refusals of the kind %s: %v, the journal has %v", kind, got, want)
		}
	}
	if len(ended) < 2 || len(refused) < 2 {
		t.Errorf("too little happened: %v, %v", ended, refused)
	}
	if got := value(t, families, "callgate_approvals_waiting"); got != 1 {
		t.Errorf("%v approvals wait", got)
	}
	if got := value(t, families, "callgate_call_duration_seconds", "filesystem"); got != ended["success"]+ended["error"] {
		t.Errorf("%v durations for %v", got, ended)
	}
	if value(t, families, "callgate_goroutines") < 1 || value(t, families, "callgate_memory_bytes") < 1 {
		t.Errorf("nothing of the process:\n%s", text)
	}
}

// The picture of callgate top has what the metrics have.
func TestActivity(t *testing.T) {
	f := serve(t)
	operator := f.token(token.Operator)
	f.ask(operator, "POST", "/v1/tools/filesystem.read/call", `{"args":{"path":"hello.txt"}}`)
	f.ask(operator, "POST", "/v1/tools/shell.bash/call", `{"args":{"command":"touch made"},"no_wait":true}`)
	status, body := f.ask(f.token(token.Viewer), "GET", "/v1/activity", "")
	var a activity.Activity
	if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	if a.Calls.Total != 1 || a.Calls.LastMinute != 1 || len(a.Tools) != 1 || a.Tools[0].Tool != "filesystem.read" {
		t.Errorf("%s", body)
	}
	if len(a.Waiting) != 1 || a.Waiting[0].Kind != "approval" || a.Waiting[0].Tool == "" {
		t.Errorf("what waits: %+v", a.Waiting)
	}
}
