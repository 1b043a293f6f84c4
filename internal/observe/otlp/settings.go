package otlp

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

// Settings say where spans and metrics go.
type Settings struct {
	Traces   string // the URL of POSTs with spans; "": none are sent
	Metrics  string // likewise with metrics
	Headers  map[string]string
	Timeout  time.Duration     // of one request
	Interval time.Duration     // between two requests with metrics
	Resource map[string]string // what is said of this process
	Warning  string            // why nothing is sent, although an endpoint is named
	Sampling Sampling
	// Transport carries the requests; nil: the network does.
	Transport http.RoundTripper
}

// On reports whether anything is sent.
func (s Settings) On() bool { return s.Traces != "" || s.Metrics != "" }

// Read makes settings of OpenTelemetry's standard variables, and of an endpoint that counts in the place of theirs.
// Without an endpoint nothing is on.
func Read(endpoint string, getenv func(string) string) (Settings, error) {
	s := Settings{
		Timeout: 10 * time.Second, Interval: time.Minute, Headers: map[string]string{}, Resource: map[string]string{},
	}
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") && endpoint == "" {
		return s, nil
	}
	base := endpoint
	if base == "" {
		base = getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if err := s.endpoints(base, endpoint != "", getenv); err != nil || !s.On() {
		return s, err
	}
	for _, of := range []struct {
		name string
		to   map[string]string
	}{{"OTEL_RESOURCE_ATTRIBUTES", s.Resource}, {"OTEL_EXPORTER_OTLP_HEADERS", s.Headers}} {
		if err := pairs(of.name, getenv(of.name), of.to); err != nil {
			return s, err
		}
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		s.Resource["service.name"] = name
	} else if s.Resource["service.name"] == "" {
		s.Resource["service.name"] = "callgate"
	}
	for _, of := range []struct {
		name string
		to   *time.Duration
	}{{"OTEL_EXPORTER_OTLP_TIMEOUT", &s.Timeout}, {"OTEL_METRIC_EXPORT_INTERVAL", &s.Interval}} {
		if err := milliseconds(of.name, getenv(of.name), of.to); err != nil {
			return s, err
		}
	}
	if err := s.Sampling.read(getenv("OTEL_TRACES_SAMPLER"), getenv("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		return s, err
	}
	switch protocol := getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", "http/protobuf":
	default:
		s.Traces, s.Metrics = "", ""
		s.Warning = fmt.Sprintf("nothing is sent to the OpenTelemetry collector: OTEL_EXPORTER_OTLP_PROTOCOL is %q, and "+
			"only http/protobuf is spoken, which collectors take on port 4318", tool.Truncate(protocol))
	}
	return s, nil
}

// endpoints finds out where each signal goes: to its own endpoint, or below that of all.
func (s *Settings) endpoints(base string, given bool, getenv func(string) string) error {
	for _, of := range []struct {
		signal, path string
		to           *string
	}{{"TRACES", "v1/traces", &s.Traces}, {"METRICS", "v1/metrics", &s.Metrics}} {
		name := "OTEL_EXPORTER_OTLP_" + of.signal + "_ENDPOINT"
		own := getenv(name)
		switch {
		case getenv("OTEL_"+of.signal+"_EXPORTER") == "none":
			continue
		case given || own == "":
			if base == "" {
				continue
			}
			own, name = strings.TrimRight(base, "/")+"/"+of.path, "OTEL_EXPORTER_OTLP_ENDPOINT"
		}
		u, err := url.Parse(own)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			if given {
				name = "--otlp"
			}
			return tool.Errorf("otlp.Read", tool.Invalid, "%s is no URL of a collector", name).
				WithHint("write it as http://127.0.0.1:4318")
		}
		*of.to = own
	}
	return nil
}

// pairs reads name=value,name=value with percent-encoded values.
func pairs(name, text string, into map[string]string) error {
	for _, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil || strings.ContainsAny(key+value, "\r\n") {
			return tool.Errorf("otlp.Read", tool.Invalid, "%s cannot be read", name).
				WithHint("write it as name=value,name=value")
		}
		into[key] = value
	}
	return nil
}

func milliseconds(name, text string, into *time.Duration) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > int(24*time.Hour/time.Millisecond) {
		return tool.Errorf("otlp.Read", tool.Invalid, "%s is no number of milliseconds", name).WithHint("write it as 10000")
	}
	*into = time.Duration(n) * time.Millisecond
	return nil
}
