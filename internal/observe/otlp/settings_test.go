package otlp_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/observe/metric"
	"callgate/internal/observe/otlp"
)

func TestRead(t *testing.T) {
	const at = "http://127.0.0.1:4318"
	for _, c := range []struct {
		name, endpoint, env string // name=value, one a line
		traces, metrics     string
		wrong               string
	}{
		{"nothing", "", "", "", "", ""},
		{"the flag", at, "", at + "/v1/traces", at + "/v1/metrics", ""},
		{"the variable", "", "OTEL_EXPORTER_OTLP_ENDPOINT=" + at + "/", at + "/v1/traces", at + "/v1/metrics", ""},
		{"the flag first", at, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x/t", at + "/v1/traces", at + "/v1/metrics", ""},
		{"a signal's own", "", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x/t", "http://x/t", "", ""},
		{"no metrics", at, "OTEL_METRICS_EXPORTER=none", at + "/v1/traces", "", ""},
		{"disabled", "", "OTEL_SDK_DISABLED=true\nOTEL_EXPORTER_OTLP_ENDPOINT=" + at, "", "", ""},
		{"no URL", "localhost:4318", "", "", "", "--otlp is no URL"},
		{"no URL in the variable", "", "OTEL_EXPORTER_OTLP_ENDPOINT=x", "", "", "OTEL_EXPORTER_OTLP_ENDPOINT is no URL"},
		{"no time", at, "OTEL_EXPORTER_OTLP_TIMEOUT=soon", "", "", "milliseconds"},
		{"no header", at, "OTEL_EXPORTER_OTLP_HEADERS=secret", "", "", "OTEL_EXPORTER_OTLP_HEADERS cannot be read"},
		{"a header that is two", at, "OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0ac: d", "", "", "cannot be read"},
	} {
		env := map[string]string{}
		for line := range strings.Lines(c.env) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			env[name] = value
		}
		s, err := otlp.Read(c.endpoint, func(name string) string { return env[name] })
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || s.Traces != c.traces || s.Metrics != c.metrics || s.On() != (c.traces+c.metrics != ""):
			t.Errorf("%s: %+v, %v", c.name, s, err)
		}
	}
}

func TestReadMore(t *testing.T) {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, b=c", "OTEL_SERVICE_NAME": "gate",
		"OTEL_RESOURCE_ATTRIBUTES": "service.name=no,team=a", "OTEL_METRIC_EXPORT_INTERVAL": "500",
	}
	s, err := otlp.Read("http://x", func(name string) string { return env[name] })
	if err != nil || s.Headers["authorization"] != "Bearer x" || s.Headers["b"] != "c" ||
		s.Resource["service.name"] != "gate" || s.Resource["team"] != "a" || s.Interval != 500*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
}

// A protocol that is not spoken keeps no kernel from starting: nothing is sent, and why is said.
func TestReadProtocol(t *testing.T) {
	s, err := otlp.Read("http://x", func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}[name]
	})
	if err != nil || s.On() || !strings.Contains(s.Warning, "http/protobuf") {
		t.Errorf("%+v, %v", s, err)
	}
}

// The headers go to the collector that was named, and to nobody it sends us to.
func TestNoRedirect(t *testing.T) {
	var followed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer elsewhere.Close()
	asked := make(chan struct{}, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		select {
		case asked <- struct{}{}:
		default:
		}
	}))
	defer collector.Close()
	s, err := otlp.Read(collector.URL, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	exporter := otlp.Start(s, slog.New(slog.DiscardHandler))
	exporter.Metrics(func(context.Context) []metric.Family { return nil })
	exporter.Close()
	<-asked
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// Whatever the variables hold, no header has a line end.
func FuzzRead(f *testing.F) {
	f.Add("http://x", "a=b")
	f.Fuzz(func(t *testing.T, endpoint, headers string) {
		s, err := otlp.Read(endpoint, func(name string) string {
			if name == "OTEL_EXPORTER_OTLP_HEADERS" {
				return headers
			}
			return ""
		})
		for key, value := range s.Headers {
			if err == nil && strings.ContainsAny(key+value, "\r\n") {
				t.Errorf("%q: %q", key, value)
			}
		}
	})
}
