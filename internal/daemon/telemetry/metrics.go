package telemetry

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/observe/callcount"
	"callgate/internal/observe/metric"
	"callgate/internal/version"
)

// Families are the numbers as metrics.
func (s *Source) Families(ctx context.Context) []metric.Family {
	n := s.gather(ctx)
	nodes := s.nodeFamilies(ctx, &n)
	return slices.Concat(callFamilies(n.calls), s.nowFamilies(n), queueFamilies(n.active, time.Now()), modelFamilies(n),
		s.serverFamilies(), s.journalFamilies(n), nodes, s.spanFamilies(), processFamilies())
}

// spanFamilies tell what became of spans, where they are recorded.
func (s *Source) spanFamilies() []metric.Family {
	if s.spans == nil {
		return nil
	}
	return []metric.Family{{
		Name: "callgate_otlp_spans_total", Type: metric.Counter, Samples: counts("outcome", s.spans.Counts()),
		Help: "Spans that were sent, dropped because the queue was full, or not taken by the collector.",
	}}
}

func callFamilies(c callcount.Counts) []metric.Family {
	calls := metric.Family{
		Name: "callgate_calls_total", Type: metric.Counter,
		Help: "Calls that ended, by module and outcome; refused ones did not run.",
	}
	took := metric.Family{
		Name: "callgate_call_duration_seconds", Type: metric.Spread, Help: "How long tools ran, by module.",
	}
	for _, module := range slices.Sorted(maps.Keys(c.Modules)) {
		t := c.Modules[module]
		calls.Samples = append(calls.Samples, counts("outcome", t.Outcomes, metric.Label{Name: "module", Value: module})...)
		took.Samples = append(took.Samples, metric.Sample{Labels: labels("module", module), Spread: &t.Took})
	}
	tools := metric.Family{
		Name: "callgate_tool_calls_total", Type: metric.Counter,
		Help: "Calls that ended, by tool and outcome; tools beyond a bound count as other.",
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		tools.Samples = append(tools.Samples,
			counts("outcome", c.Tools[name].Outcomes, metric.Label{Name: "tool", Value: name})...)
	}
	return []metric.Family{calls, took, tools,
		{Name: "callgate_call_errors_total", Help: "Calls that failed, by the kind of the error.", Type: metric.Counter,
			Samples: counts("kind", c.Errors)},
		{Name: "callgate_refusals_total", Help: "Calls that were refused before they ran, by kind.", Type: metric.Counter,
			Samples: counts("kind", c.Refusals)},
		{Name: "callgate_approval_answers_total", Help: "What humans answered, by verdict.", Type: metric.Counter,
			Samples: counts("verdict", c.Answers)},
	}
}

// nowFamilies are what is under way.
func (s *Source) nowFamilies(n numbers) []metric.Family {
	locks := s.kernel.Locks.Snapshot()
	tasks := metric.Family{
		Name: "callgate_tasks", Type: metric.Gauge,
		Help: "Tasks that have not ended, by kind (watch, schedule and others) and state; at most 1000 are counted.",
	}
	for _, key := range sortedKeys(n.tasks) {
		tasks.Samples = append(tasks.Samples, metric.Sample{
			Labels: labels("kind", key[0], "state", key[1]), Value: float64(n.tasks[key]),
		})
	}
	gauge := func(name, help string, value int) metric.Family {
		return metric.Of(name, help, metric.Gauge, float64(value))
	}
	return []metric.Family{
		gauge("callgate_calls_running", "Calls under way in sessions, also those that wait.", s.kernel.Sessions.Calls()),
		gauge("callgate_approvals_waiting", "Approvals that wait for a human.", len(n.approvals)),
		gauge("callgate_questions_waiting", "Questions that wait for a human.", len(n.questions)),
		gauge("callgate_locks_held", "Claims that are held.", len(locks.Held)),
		gauge("callgate_locks_waiting", "Claims that wait.", len(locks.Waiting)),
		gauge("callgate_doubts", "Calls of which nobody knows whether they happened.", n.doubts),
		gauge("callgate_sessions", "Open sessions.", s.kernel.Sessions.Len()),
		gauge("callgate_followers", "Clients that follow the journal.", int(s.Followers.Load())),
		gauge("callgate_schemas_cached", "Compiled schemas that the gate keeps.", n.Schemas),
		gauge("callgate_unreadable", "Sources of these numbers that could not be read.", len(n.problems)),
		tasks,
	}
}

func modelFamilies(n numbers) []metric.Family {
	requests := metric.Family{
		Name: "callgate_model_requests_total", Help: "Requests to models, by how they ended.", Type: metric.Counter,
	}
	tokens := metric.Family{
		Name: "callgate_model_tokens_total", Type: metric.Counter,
		Help: "Tokens that answers told: input has cached_input and cache_write in it, output has reasoning in it.",
	}
	cost := metric.Family{
		Name: "callgate_model_cost_dollars_total", Help: "What answers cost, where the price is known.", Type: metric.Counter,
	}
	took := metric.Family{
		Name: "callgate_model_request_duration_seconds", Help: "How long requests to models took.", Type: metric.Spread,
	}
	for _, m := range n.Models {
		at := labels("provider", m.Provider, "model", m.Model)
		requests.Samples = append(requests.Samples, counts("outcome", m.Outcomes, at...)...)
		for _, t := range []struct {
			kind  string
			count int
		}{
			{"input", m.Usage.Input}, {"cached_input", m.Usage.CachedInput}, {"cache_write", m.Usage.CacheWrite},
			{"output", m.Usage.Output}, {"reasoning", m.Usage.Reasoning},
		} {
			tokens.Samples = append(tokens.Samples, metric.Sample{
				Labels: append(slices.Clip(at), metric.Label{Name: "kind", Value: t.kind}), Value: float64(t.count),
			})
		}
		cost.Samples = append(cost.Samples, metric.Sample{Labels: at, Value: float64(m.Usage.Cost) / 1e6})
		took.Samples = append(took.Samples, metric.Sample{Labels: at, Spread: &m.Took})
	}
	return []metric.Family{requests, tokens, cost, took}
}

// maxServers bounds the servers that are told by name.
const maxServers = 200

// serverFamilies tell of MCP servers. Two of one name, in several apps, are added up, and up if one is.
func (s *Source) serverFamilies() []metric.Family {
	type sums struct{ up, calls, failures, inFlight float64 }
	byName := map[string]*sums{}
	for _, st := range s.kernel.Servers.Status() {
		if byName[st.Name] == nil {
			if len(byName) >= maxServers {
				continue
			}
			byName[st.Name] = &sums{}
		}
		one := byName[st.Name]
		if !st.Since.IsZero() {
			one.up = 1
		}
		one.calls, one.failures = one.calls+float64(st.Calls), one.failures+float64(st.Failures)
		one.inFlight += float64(st.InFlight)
	}
	family := func(name, help string, t metric.Type, of func(*sums) float64) metric.Family {
		f := metric.Family{Name: name, Help: help, Type: t}
		for _, server := range slices.Sorted(maps.Keys(byName)) {
			f.Samples = append(f.Samples, metric.Sample{Labels: labels("server", server), Value: of(byName[server])})
		}
		return f
	}
	return []metric.Family{
		family("callgate_server_up", "1: the MCP server runs or is connected.", metric.Gauge,
			func(s *sums) float64 { return s.up }),
		family("callgate_server_requests_total", "Requests to the MCP server.", metric.Counter,
			func(s *sums) float64 { return s.calls }),
		family("callgate_server_failures_total", "Requests to the MCP server that failed.", metric.Counter,
			func(s *sums) float64 { return s.failures }),
		family("callgate_server_requests_running", "Requests that the MCP server works on.", metric.Gauge,
			func(s *sums) float64 { return s.inFlight }),
	}
}

func (s *Source) journalFamilies(n numbers) []metric.Family {
	j := s.journal(n)
	failing := 0.0
	if j.Failing != "" {
		failing = 1
	}
	return append([]metric.Family{
		metric.Of("callgate_journal_records_total", "Records since the kernel started.", metric.Counter,
			float64(n.calls.Records)),
		metric.Of("callgate_journal_last_record", "The number of the newest record.", metric.Gauge, float64(j.Last)),
		metric.Of("callgate_journal_queue", "Records that wait to be written.", metric.Gauge, float64(j.Queued)),
		metric.Of("callgate_journal_failing", "1: the last write of the journal failed.", metric.Gauge, failing),
	}, journalWriteFamilies(kernel.NodeOf(s.kernel).JournalWrites())...)
}

func processFamilies() []metric.Family {
	p := process()
	return []metric.Family{
		{Name: "callgate_build_info", Help: "The version, as a label.", Type: metric.Gauge,
			Samples: []metric.Sample{{Labels: labels("version", version.Version), Value: 1}}},
		metric.Of("callgate_memory_bytes", "Memory from the system, without what was given back.", metric.Gauge,
			float64(p.Memory)),
		metric.Of("callgate_heap_bytes", "Memory of objects in use.", metric.Gauge, float64(p.Heap)),
		metric.Of("callgate_goroutines", "Goroutines.", metric.Gauge, float64(p.Goroutines)),
	}
}

func labels(pairs ...string) (list []metric.Label) {
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, metric.Label{Name: pair[0], Value: pair[1]})
	}
	return list
}

// counts are the samples of counts by one more label.
func counts(name string, by map[string]uint64, at ...metric.Label) (list []metric.Sample) {
	for _, value := range slices.Sorted(maps.Keys(by)) {
		list = append(list, metric.Sample{
			Labels: append(slices.Clip(at), metric.Label{Name: name, Value: cmp.Or(value, "none")}), Value: float64(by[value]),
		})
	}
	return list
}
