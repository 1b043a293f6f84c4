package pgnode

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/secret/authority"
	"callgate/tool"
)

// The law of nodes.
//
// A node is a kernel with a state directory of its own. Its row in the table nodes has an epoch, which grows whenever
// somebody else may act in its name or in its place: when it is opened, when it leaves, and when it is taken over.
//
//   - Each write transaction holds the row of its node and epoch FOR KEY SHARE from its first answer on, and is refused
//     if there is none. The epoch is part of a key, so whoever changes it waits for the transactions of the old epoch;
//     after that none of them commits. The refused write is an error for which [Fenced] is true; it is not repeated,
//     and this process writes nothing any more.
//   - A heartbeat changes no key, and waits for nobody.
//   - A node is taken over only when its lease is over, by the server's clock.
//   - Who takes a node over, or opens it anew, ends the connections that its former process still has: a transaction
//     that nobody drives any more does not keep the epoch.

// DefaultLease is how long a node lives without a heartbeat, unless it says otherwise.
const DefaultLease = 15 * time.Second

// Node is who opens a database.
type Node struct {
	ID      string        // made once and kept: 1 to 64 letters, digits, dots, dashes and underscores
	Name    string        // for people; "": the ID
	Address string        // where other nodes reach it; "": nowhere
	Version string        // of the program
	Lease   time.Duration // how long it lives without a heartbeat; default DefaultLease

	Key      *authority.Key // signs what gives rights; nil: nothing is signed, and everything is believed
	Distrust func(error)    // is told of each row that is not believed; may be nil
}

var nodeID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// withDefaults completes a node, or says what is wrong with it.
func (n Node) withDefaults() (Node, error) {
	if !nodeID.MatchString(n.ID) {
		return n, tool.Errorf("postgres.Open", tool.Invalid, "%q cannot be the ID of a node", tool.Truncate(n.ID)).
			WithHint("an ID has 1 to 64 letters, digits, dots, dashes and underscores")
	}
	n.Name = cmp.Or(n.Name, n.ID)
	n.Lease = max(n.Lease, 0)
	n.Lease = cmp.Or(n.Lease, DefaultLease)
	return n, nil
}

// NodeState is what a node does.
type NodeState string

// The states of a node. One that is up, or draining, and whose lease is over, is lost: it may be taken over.
const (
	Up       NodeState = "up"
	Draining NodeState = "draining" // it begins nothing new
	Down     NodeState = "down"     // it left, or was taken over
)

// NodeStatus is what the database knows of a node.
type NodeStatus struct {
	ID, Name, Address, Version string

	Epoch     int64
	State     NodeState
	Started   time.Time
	Heartbeat time.Time // the last one
	Lag       time.Duration
	Left      time.Duration   // of its lease; negative: it is over
	TakenOver bool            // it is down, and did not say that it ends
	Info      json.RawMessage // what its heartbeats tell
}

// Lost reports a node that should live, and whose lease is over.
func (s NodeStatus) Lost() bool { return s.State != Down && s.Left < 0 }

// Nodes is what a node does about itself and others.
type Nodes struct{ db *DB }

// Nodes returns the nodes of the database.
func (db *DB) Nodes() *Nodes { return &Nodes{db} }

// Node is who opened the database, and the epoch that it was given.
func (db *DB) Node() (Node, int64) { return db.node, db.epoch }

// register makes the node's row, or takes it from the node's former process, and begins its lease. It may be done
// twice: the epoch that counts is the last.
func (db *DB) register(ctx context.Context) error {
	if err := db.endConnections(ctx, db.node.ID, "true"); err != nil {
		return err
	}
	const register = `WITH own AS (INSERT INTO document_writes VALUES ($1) ON CONFLICT DO NOTHING)
		INSERT INTO nodes (id, epoch, name, address, version, state, started, heartbeat, lease_until)
		SELECT $1, 1, $2, $3, $4, 'up', now, now, now + $5::interval FROM clock_timestamp() AS now
		ON CONFLICT (id) DO UPDATE SET epoch = nodes.epoch + 1, name = excluded.name, address = excluded.address,
		version = excluded.version, state = excluded.state, started = excluded.started, heartbeat = excluded.heartbeat,
		lease_until = clock_timestamp() + $5::interval, taken_over = false, info = excluded.info RETURNING epoch`
	n := db.node
	var err error
	db.epoch, err = QueryOne(ctx, db, pgx.RowTo[int64], register, n.ID, n.Name, n.Address, n.Version, n.Lease)
	return err
}

// endConnections ends the connections that processes of a node have, but for those of this one, if a condition on the
// node's row holds. A server that does not permit it is not asked again: transactions end by themselves, later.
func (db *DB) endConnections(ctx context.Context, id, condition string) error {
	end := "SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a WHERE a.datname = current_database() " +
		"AND starts_with(a.application_name, $2) AND NOT starts_with(a.application_name, $3) " +
		"AND EXISTS (SELECT FROM nodes WHERE id = $1 AND " + condition + ")"
	_, err := Query(ctx, db, pgx.RowTo[bool], end, id, db.connections.ofNode(id), db.connections.ofProcess())
	if isForbidden(err) {
		return nil
	}
	return err
}

const lapsed = "state <> 'down' AND lease_until < clock_timestamp()"

// Heartbeat begins the node's lease anew, keeps what info tells of it (nil: what was told before), and returns the
// node's state: somebody may have asked it to drain. If the node has another epoch, [Fenced] is true of the error. It
// waits for nothing that other writes wait for, and tries once: who calls it bounds it, and calls it again.
func (n *Nodes) Heartbeat(ctx context.Context, info json.RawMessage) (NodeState, error) {
	const beat = "UPDATE nodes SET heartbeat = clock_timestamp(), lease_until = clock_timestamp() + $3::interval, " +
		"info = coalesce($4::jsonb, info) WHERE id = $1 AND epoch = $2 RETURNING state, heartbeat"
	const op = "postgres.Heartbeat"
	var state NodeState
	var arrived time.Time
	sent := time.Now()
	err := n.db.control.QueryRow(ctx, beat, n.db.node.ID, n.db.epoch, n.db.node.Lease, info).Scan(&state, &arrived)
	if Absent(err) {
		return "", n.db.fence()
	}
	if err == nil {
		n.db.counts.compareClocks(sent, time.Now(), arrived)
	}
	return state, ConvertError(op, err)
}

// SetDraining asks a node to begin nothing new, or to go on. It hears of it with its next heartbeat.
func (n *Nodes) SetDraining(ctx context.Context, id string, is bool) error {
	const op = "postgres.SetDraining"
	from, to := Draining, Up
	if is {
		from, to = Up, Draining
	}
	return ConvertError(op, n.db.Transact(ctx, func(ctx context.Context, t *Tx) error {
		const set = "UPDATE nodes SET state = CASE WHEN state = $2 THEN $3 ELSE state END WHERE id = $1 RETURNING state"
		state, err := QueryOneTx(ctx, t, pgx.RowTo[NodeState], set, id, from, to)
		switch {
		case Absent(err):
			return unknownNode(op, id)
		case err == nil && state == Down:
			return tool.Errorf(op, tool.Conflict, "the node %s is down", tool.Truncate(id))
		}
		return err
	}))
}

func unknownNode(op, id string) error {
	return tool.Errorf(op, tool.NotFound, "there is no node %q", tool.Truncate(id)).
		WithHint("callgate nodes lists them")
}

const selectNodes = "SELECT id, name, address, version, epoch, state, started, heartbeat, " +
	"(extract(epoch FROM clock_timestamp() - heartbeat) * 1000000)::bigint, " +
	"(extract(epoch FROM lease_until - clock_timestamp()) * 1000000)::bigint, taken_over, info FROM nodes "

func scanNode(row pgx.CollectableRow) (s NodeStatus, err error) {
	var lag, left int64 // microseconds
	err = row.Scan(&s.ID, &s.Name, &s.Address, &s.Version, &s.Epoch, &s.State, &s.Started, &s.Heartbeat,
		&lag, &left, &s.TakenOver, &s.Info)
	s.Lag, s.Left = time.Duration(lag)*time.Microsecond, time.Duration(left)*time.Microsecond
	return s, err
}

// List returns every node there ever was, by name and ID.
func (n *Nodes) List(ctx context.Context) ([]NodeStatus, error) {
	list, err := Query(ctx, n.db, scanNode, selectNodes+`ORDER BY name COLLATE "C", id`)
	return list, ConvertError("postgres.List", err)
}

// Ended returns the nodes that do not live: those whose lease is over, and those that are down.
func (n *Nodes) Ended(ctx context.Context) ([]NodeStatus, error) {
	const ended = selectNodes + `WHERE state = 'down' OR lease_until < clock_timestamp() ORDER BY id`
	list, err := Query(ctx, n.db, scanNode, ended)
	return list, ConvertError("postgres.Ended", err)
}

// Following returns the nodes that come after this one in the order of IDs, the first after the last, limit at most.
// So each of many nodes is looked at by some of the others, and none looks at all.
func (n *Nodes) Following(ctx context.Context, limit int) ([]NodeStatus, error) {
	const following = "(" + selectNodes + "WHERE id > $1 ORDER BY id LIMIT $2) UNION ALL (" +
		selectNodes + "WHERE id < $1 ORDER BY id LIMIT $2) LIMIT $2"
	list, err := Query(ctx, n.db, scanNode, following, n.db.node.ID, limit)
	return list, ConvertError("postgres.Following", err)
}

// TakeOver sees to it that nothing of a node commits any more: when it has returned, the node is down, and its epoch
// another than before. A node whose lease is not over is a Conflict. One that is down already stays as it is.
func (n *Nodes) TakeOver(ctx context.Context, id string) (taken NodeStatus, err error) {
	const op = "postgres.TakeOver"
	if id == n.db.node.ID {
		return taken, tool.Errorf(op, tool.Invalid, "a node does not take itself over")
	}
	if err := n.db.endConnections(ctx, id, lapsed); err != nil {
		return taken, ConvertError(op, err)
	}
	var took int64
	err = n.db.Transact(ctx, func(ctx context.Context, t *Tx) (err error) {
		const take = "UPDATE nodes SET epoch = epoch + 1, state = 'down', taken_over = true WHERE id = $1 AND " + lapsed
		if took, err = t.Exec(ctx, take, id); err != nil {
			return err
		}
		taken, err = QueryOneTx(ctx, t, scanNode, selectNodes+"WHERE id = $1", id)
		switch {
		case Absent(err):
			return unknownNode(op, id)
		case err == nil && taken.State != Down:
			return tool.Errorf(op, tool.Conflict, "the node %s lives: its lease is over in %v",
				taken.Name, taken.Left.Round(time.Millisecond))
		}
		return err
	})
	if err != nil {
		return NodeStatus{}, ConvertError(op, err)
	}
	n.db.counts.takenOver.Add(uint64(took))
	return taken, nil
}

// leave says that the node is down. It waits for the transactions that are under way, and lets none begin.
func (n *Nodes) leave(ctx context.Context) error {
	const leave = "UPDATE nodes SET epoch = epoch + 1, state = 'down', lease_until = clock_timestamp() " +
		"WHERE id = $1 AND epoch = $2"
	_, err := n.db.pool.Exec(ctx, leave, n.db.node.ID, n.db.epoch)
	return err
}
