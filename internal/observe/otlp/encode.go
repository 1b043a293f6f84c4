package otlp

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	collectmetrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	words "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"callgate/internal/observe"
	"callgate/internal/observe/metric"
	"callgate/internal/version"
)

func text(key, value string) *words.KeyValue {
	return &words.KeyValue{Key: key, Value: &words.AnyValue{
		Value: &words.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\uFFFD")},
	}}
}

func number(key string, n int64) *words.KeyValue {
	return &words.KeyValue{Key: key, Value: &words.AnyValue{Value: &words.AnyValue_IntValue{IntValue: n}}}
}

func scope() *words.InstrumentationScope {
	return &words.InstrumentationScope{Name: "callgate", Version: version.Version}
}

// about is what is said of this process.
func about(set map[string]string) *resource.Resource {
	r := &resource.Resource{}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		r.Attributes = append(r.Attributes, text(key, set[key]))
	}
	r.Attributes = append(r.Attributes, text("service.version", version.Version),
		number("process.pid", int64(os.Getpid())))
	return r
}

func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }

func traceRequest(set map[string]string, batch []*observe.Span) *collecttraces.ExportTraceServiceRequest {
	spans := make([]*traces.Span, len(batch))
	for i, s := range batch {
		spans[i] = span(s)
	}
	return &collecttraces.ExportTraceServiceRequest{ResourceSpans: []*traces.ResourceSpans{{
		Resource: about(set), ScopeSpans: []*traces.ScopeSpans{{Scope: scope(), Spans: spans}},
	}}}
}

func span(s *observe.Span) *traces.Span {
	kinds := map[observe.Kind]traces.Span_SpanKind{
		observe.Internal: traces.Span_SPAN_KIND_INTERNAL, observe.Client: traces.Span_SPAN_KIND_CLIENT,
		observe.Server: traces.Span_SPAN_KIND_SERVER,
	}
	out := &traces.Span{
		TraceId: s.Trace[:], SpanId: s.ID[:], Name: strings.ToValidUTF8(s.Name, "\uFFFD"), Kind: kinds[s.Kind],
		StartTimeUnixNano: nanoseconds(s.Start), EndTimeUnixNano: nanoseconds(s.End), Flags: 1,
	}
	if s.Parent != [8]byte{} {
		out.ParentSpanId = s.Parent[:]
	}
	for _, a := range s.Attrs {
		if a.Text != "" {
			out.Attributes = append(out.Attributes, text(a.Key, a.Text))
		} else {
			out.Attributes = append(out.Attributes, number(a.Key, a.Number))
		}
	}
	if s.Failure != "" {
		out.Status = &traces.Status{Code: traces.Status_STATUS_CODE_ERROR, Message: s.Failure}
	}
	return out
}

func metricRequest(set map[string]string, families []metric.Family, began, now time.Time,
) *collectmetrics.ExportMetricsServiceRequest {
	var list []*metrics.Metric
	for _, f := range families {
		if len(f.Samples) > 0 {
			list = append(list, family(f, nanoseconds(began), nanoseconds(now)))
		}
	}
	return &collectmetrics.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource: about(set), ScopeMetrics: []*metrics.ScopeMetrics{{Scope: scope(), Metrics: list}},
	}}}
}

func family(f metric.Family, began, now uint64) *metrics.Metric {
	const sum = metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
	m := &metrics.Metric{Name: f.Name, Description: f.Help}
	var points []*metrics.NumberDataPoint
	var spreads []*metrics.HistogramDataPoint
	for _, s := range f.Samples {
		var at []*words.KeyValue
		for _, l := range s.Labels {
			at = append(at, text(l.Name, l.Value))
		}
		if h := s.Spread; h != nil {
			spreads = append(spreads, &metrics.HistogramDataPoint{
				Attributes: at, StartTimeUnixNano: began, TimeUnixNano: now, Count: h.Count, Sum: &h.Sum,
				BucketCounts: h.Buckets[:], ExplicitBounds: metric.Bounds(),
			})
			continue
		}
		points = append(points, &metrics.NumberDataPoint{
			Attributes: at, StartTimeUnixNano: began, TimeUnixNano: now,
			Value: &metrics.NumberDataPoint_AsDouble{AsDouble: s.Value},
		})
	}
	switch f.Type {
	case metric.Spread:
		m.Unit = "s"
		m.Data = &metrics.Metric_Histogram{Histogram: &metrics.Histogram{DataPoints: spreads, AggregationTemporality: sum}}
	case metric.Counter:
		m.Data = &metrics.Metric_Sum{Sum: &metrics.Sum{DataPoints: points, AggregationTemporality: sum, IsMonotonic: true}}
	default:
		m.Data = &metrics.Metric_Gauge{Gauge: &metrics.Gauge{DataPoints: points}}
	}
	return m
}
