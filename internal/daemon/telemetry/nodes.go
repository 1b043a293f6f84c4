package telemetry

import (
	"context"
	"maps"
	"slices"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/node"
	"callgate/internal/observe/metric"
	"callgate/internal/task"
	"callgate/internal/version"
)

// nodeFamilies tell of a kernel among others. Each node tells of itself: who gathers the numbers of all knows from
// where each came. Of the others it tells only how many there are in each state, because one that is lost tells
// nothing any more.
func (s *Source) nodeFamilies(ctx context.Context, n *numbers) []metric.Family {
	self := kernel.NodeOf(s.kernel)
	own, shared := self.Numbers()
	if !shared {
		return nil
	}
	states := map[string]uint64{"up": 0, "draining": 0, "lost": 0, "down": 0}
	members, err := self.Members(ctx)
	if err != nil {
		n.problems = append(n.problems, err.Error())
		states = nil
	}
	for _, m := range members {
		states[m.Condition()]++
	}
	return slices.Concat([]metric.Family{
		{Name: "callgate_node_info", Help: "The node, as labels.", Type: metric.Gauge, Samples: []metric.Sample{{
			Labels: labels("node", self.Name(), "id", self.ID, "version", version.Version), Value: 1,
		}}},
		{Name: "callgate_nodes", Type: metric.Gauge, Samples: counts("state", states),
			Help: "Nodes of the database, by state; those that are down are all that ever were."},
	}, heartbeatFamilies(own), databaseFamilies(own), sharedLockFamilies(own),
		forwardFamilies(self.Forwarded.Read()))
}

func heartbeatFamilies(n node.Numbers) []metric.Family {
	return []metric.Family{
		metric.Of("callgate_node_epoch", "It grows when the node is opened, leaves or is fenced.", metric.Gauge,
			float64(n.Epoch)),
		truth("callgate_node_draining", "1: the node begins nothing new.", n.Draining),
		truth("callgate_node_suspended", "1: the node does nothing, as it does not reach the database.", n.IsSuspended),
		metric.Of("callgate_node_suspensions_total", "How often that was.", metric.Counter, float64(n.Suspensions)),
		seconds("callgate_node_suspended_seconds_total", "How long that was.", metric.Counter, n.Suspended),
		seconds("callgate_node_heartbeat_age_seconds", "Since the last heartbeat that succeeded was sent.", metric.Gauge,
			n.Last),
		seconds("callgate_node_lease_left_seconds", "How long the node may act if no other heartbeat succeeds.",
			metric.Gauge, n.LeaseLeft),
		metric.Of("callgate_node_heartbeats_failed_total", "Heartbeats that failed.", metric.Counter, float64(n.Failed)),
		spread("callgate_node_heartbeat_duration_seconds", "Round trips of heartbeats to the database.", &n.Took),
		seconds("callgate_node_clock_ahead_seconds", "How far this machine's clock is ahead of the database's.",
			metric.Gauge, n.ClockAhead),
	}
}

func databaseFamilies(n node.Numbers) []metric.Family {
	d := n.Database
	return []metric.Family{
		spread("callgate_database_transaction_duration_seconds", "How long transactions that write took.", &d.Writes),
		metric.Of("callgate_database_transactions_failed_total", "Transactions that did not commit.", metric.Counter,
			float64(d.WriteErrors)),
		metric.Of("callgate_database_lost_commits_total", "Commits whose answer was lost.", metric.Counter,
			float64(d.LostCommits)),
		metric.Of("callgate_database_takeovers_total", "Nodes that this one took over.", metric.Counter,
			float64(d.TakenOver)),
		{Name: "callgate_database_connections", Help: "Connections of the pool.", Type: metric.Gauge, Samples: counts("state",
			map[string]uint64{"busy": uint64(d.Busy), "idle": uint64(max(d.Connections-d.Busy, 0))})},
		metric.Of("callgate_database_connections_most", "The most that the pool may have.", metric.Gauge,
			float64(d.MaxConnections)),
		metric.Of("callgate_database_connection_waits_total", "How often all were busy.", metric.Counter, float64(d.Waits)),
		seconds("callgate_database_connection_waited_seconds_total", "How long one was waited for then.", metric.Counter,
			d.Waited),
	}
}

// sharedLockFamilies tell of the locks of what all nodes share, which are kept in the database.
func sharedLockFamilies(n node.Numbers) []metric.Family {
	return []metric.Family{
		metric.Of("callgate_shared_locks_held", "Requests of calls here that hold what all nodes share.", metric.Gauge,
			float64(n.Locks.Held)),
		metric.Of("callgate_shared_locks_waiting", "Requests of calls here that wait for what all nodes share.", metric.Gauge,
			float64(n.Locks.Waiting)),
		spread("callgate_shared_lock_wait_seconds", "How long requests waited that were granted.", &n.Locks.Waits),
		metric.Of("callgate_shared_locks_refused_total", "Requests that were given up.", metric.Counter,
			float64(n.Locks.NotGranted)),
	}
}

func forwardFamilies(by map[string]metric.Histogram) []metric.Family {
	f := metric.Family{Name: "callgate_forwarded_request_duration_seconds", Type: metric.Spread,
		Help: "Until another node began to answer, by outcome: answered, unreachable, broken, cancelled."}
	for _, outcome := range slices.Sorted(maps.Keys(by)) {
		took := by[outcome]
		f.Samples = append(f.Samples, metric.Sample{Labels: labels("outcome", outcome), Spread: &took})
	}
	return []metric.Family{f}
}

// queueFamilies tell of the tasks that should run now.
func queueFamilies(tasks []task.Task, now time.Time) []metric.Family {
	due, oldest := 0, time.Duration(0)
	for _, t := range tasks {
		if t.State == task.Queued && !t.RunAt.After(now) {
			due++
			if !t.RunAt.IsZero() {
				oldest = max(oldest, now.Sub(t.RunAt))
			}
		}
	}
	return []metric.Family{
		metric.Of("callgate_tasks_due", "Tasks that should run now, and do not; at most 1000 are counted.", metric.Gauge,
			float64(due)),
		seconds("callgate_task_oldest_due_seconds", "How long the first of them has been due.", metric.Gauge, oldest),
	}
}

// journalWriteFamilies tell how the journal is written.
func journalWriteFamilies(w node.JournalWrites) []metric.Family {
	return []metric.Family{
		spread("callgate_journal_write_duration_seconds", "How long writes of the journal took, each of several records.",
			&w.Took),
		metric.Of("callgate_journal_written_total", "Records that were written, some with each write.",
			metric.Counter, float64(w.Records)),
		metric.Of("callgate_journal_write_failures_total", "Writes of the journal that failed.", metric.Counter,
			float64(w.Failed)),
	}
}

func truth(name, help string, is bool) metric.Family {
	value := 0.0
	if is {
		value = 1
	}
	return metric.Of(name, help, metric.Gauge, value)
}

func seconds(name, help string, t metric.Type, d time.Duration) metric.Family {
	return metric.Of(name, help, t, d.Seconds())
}

func spread(name, help string, h *metric.Histogram) metric.Family {
	return metric.Family{Name: name, Help: help, Type: metric.Spread, Samples: []metric.Sample{{Spread: h}}}
}
