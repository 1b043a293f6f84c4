package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/protocol/operations"
)

// What is too much between nodes that share a database.
const (
	slowHeartbeat = 500 * time.Millisecond // of a node in the rack of its database, a hundredth of that is usual
	clockTrouble  = 2 * time.Second        // between the clocks of two machines
)

// Nodes checks the nodes that share a database; there is no check for a kernel alone.
func Nodes(nodes []operations.Node) []Check {
	if len(nodes) == 0 {
		return nil
	}
	c := Check{Group: GroupCallgate, Name: "nodes", State: OK}
	living := slices.DeleteFunc(slices.Clone(nodes), func(n operations.Node) bool {
		return n.State != "up" && n.State != "draining"
	})
	c.Found = amount.Of(len(living), "node") + " up"
	var wrong []string
	for _, n := range nodes {
		if n.State == "lost" {
			wrong = append(wrong, fmt.Sprintf("%s is lost: its last heartbeat was %v ago, and %s", n.Name,
				n.Lag.Round(time.Second), n.Backlog))
		}
	}
	for _, n := range living {
		if n.Health.Signs == "" {
			wrong = append(wrong, n.Name+" has no key of the cluster: whoever writes in its database has the rights of its "+
				"users; place a key, and sign what is there with callgate migrate --sign (callgate help cluster)")
		}
	}
	wrong = append(wrong, slow(living)...)
	wrong = append(wrong, clocks(living)...)
	if versions := versionsOf(living); len(versions) > 1 {
		wrong = append(wrong, "the nodes are of different versions: "+strings.Join(versions, ", ")+
			"; finish the upgrade, one node after the other")
	}
	if len(wrong) > 0 {
		c.State, c.Fix = Warning, strings.Join(wrong, "\n                     ")
	}
	return []Check{c}
}

// slow names the nodes that hear late from their database.
func slow(living []operations.Node) (wrong []string) {
	for _, n := range living {
		switch {
		case n.Health.RoundTrip > slowHeartbeat:
			wrong = append(wrong, fmt.Sprintf("%s waits %v for an answer of the database: see that its network and the "+
				"database's disks are not at their limit", n.Name, n.Health.RoundTrip.Round(time.Millisecond)))
		case n.LeaseLeft < n.Lag:
			wrong = append(wrong, fmt.Sprintf("the last heartbeat of %s was %v ago, and its lease is over in %v", n.Name,
				n.Lag.Round(100*time.Millisecond), n.LeaseLeft.Round(100*time.Millisecond)))
		}
	}
	return wrong
}

// clocks names the two nodes whose clocks differ most, if that is much.
func clocks(living []operations.Node) []string {
	if len(living) == 0 {
		return nil
	}
	by := func(a, b operations.Node) int { return int(a.Health.ClockAhead - b.Health.ClockAhead) }
	first, last := slices.MaxFunc(living, by), slices.MinFunc(living, by)
	apart := first.Health.ClockAhead - last.Health.ClockAhead
	if apart <= clockTrouble {
		return nil
	}
	return []string{fmt.Sprintf("the clock of %s is %v ahead of that of %s: times of records and of schedules differ; "+
		"have the machines set their clocks (NTP)", first.Name, apart.Round(100*time.Millisecond), last.Name)}
}

// versionsOf are the versions of nodes, each once, in order.
func versionsOf(living []operations.Node) []string {
	versions := make([]string, len(living))
	for i, n := range living {
		versions[i] = n.Version
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}
