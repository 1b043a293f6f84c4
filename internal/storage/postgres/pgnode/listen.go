package pgnode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The law of listening.
//
// One connection of a process listens for everybody in it. Who listens to a channel is told of every notification on
// it, in their order, each once, or that some may have been missed: when listening has begun, when the connection was
// lost and is made again, and when more came than were taken. So who is told of nothing has missed nothing since it was
// last told, but for the time in which a lost connection is not known to be lost. What must not wait for that is looked
// at now and then without being told.

const (
	// maxQueued is how many notifications wait for one who listens. Beyond them, all are missed.
	maxQueued = 1000
	// listenIdle is how long nothing may come before the connection is tried, and tryPatience is how long that takes.
	listenIdle  = 30 * time.Second
	tryPatience = 10 * time.Second
	// firstPause and maxPause are between two attempts to connect.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
)

// Channel is the name, in this database, of a channel that the nodes of one schema share.
func (db *DB) Channel(name string) string {
	sum := sha256.Sum256([]byte(db.connections.schema))
	return "callgate_" + hex.EncodeToString(sum[:6]) + "_" + name
}

// Notify tells everybody who listens to a channel, on any node. In a transaction, pg_notify does it with the commit.
func (db *DB) Notify(ctx context.Context, channel, payload string) error {
	_, err := Query(ctx, db, pgx.RowTo[any], "SELECT pg_notify($1, $2)::text", channel, payload)
	return ConvertError("postgres.Notify", err)
}

// Listen calls got for what comes on a channel, until ctx ends or the database is closed: with the payload, or with
// missed when some may have been missed, and first when listening has begun. It calls it once at a time; who is slow
// keeps nobody else.
func (db *DB) Listen(ctx context.Context, channel string, got func(payload string, missed bool)) {
	s := db.listener.subscribe(channel)
	defer db.listener.unsubscribe(s)
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.listener.closed:
			return
		case <-s.came:
		}
		payloads, missed := s.take()
		if missed {
			got("", true)
		}
		for _, payload := range payloads {
			if ctx.Err() != nil {
				return
			}
			got(payload, false)
		}
	}
}

// subscription is one who listens.
type subscription struct {
	channel string
	came    chan struct{} // has a value when there is something to take

	mu       sync.Mutex
	payloads []string
	missed   bool
}

// take takes what has come. What was missed comes first.
func (s *subscription) take() (payloads []string, missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payloads, missed = s.payloads, s.missed
	s.payloads, s.missed = nil, false
	return payloads, missed
}

func (s *subscription) add(payload string, missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if missed || len(s.payloads) >= maxQueued {
		s.payloads, s.missed = nil, true // who looks anew finds what they told of
	}
	if !missed {
		s.payloads = append(s.payloads, payload)
	}
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// listener has the connection.
type listener struct {
	connect func(context.Context) (*pgx.Conn, error)
	cancel  context.CancelFunc
	ctx     context.Context // of the listener's life
	closed  <-chan struct{}
	ended   sync.WaitGroup

	mu            sync.Mutex
	begun         bool
	subscriptions map[*subscription]bool // and whether they were told that listening has begun
	wake          context.CancelFunc     // ends the wait for a notification
}

func newListener(connect func(context.Context) (*pgx.Conn, error)) *listener {
	l := &listener{connect: connect, subscriptions: map[*subscription]bool{}, wake: func() {}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.closed = l.ctx.Done()
	return l
}

// close ends the connection and everybody's listening.
func (l *listener) close() {
	l.mu.Lock()
	l.begun = true // or never begins
	l.cancel()
	l.mu.Unlock()
	l.ended.Wait()
}

func (l *listener) subscribe(channel string) *subscription {
	s := &subscription{channel: channel, came: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscriptions[s] = false
	if !l.begun {
		l.begun = true
		l.ended.Go(l.run)
	}
	l.wake()
	return s
}

func (l *listener) unsubscribe(s *subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subscriptions, s)
	l.wake()
}

// run keeps a connection.
func (l *listener) run() {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		conn, err := l.connect(l.ctx)
		if err == nil {
			pause = firstPause
			l.serve(conn)
			limited, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = conn.Close(limited) // it is of no use either way
			cancel()
		}
		select {
		case <-time.After(pause):
		case <-l.closed:
			return
		}
	}
}

// serve listens over one connection until that is lost.
func (l *listener) serve(conn *pgx.Conn) {
	l.mu.Lock()
	for s := range l.subscriptions {
		l.subscriptions[s] = false
	}
	l.mu.Unlock()
	listens := map[string]bool{}
	for {
		wait, wake := context.WithTimeout(l.ctx, listenIdle)
		n, err := l.next(wait, conn, listens, wake)
		idle := wait.Err() == context.DeadlineExceeded
		wake()
		switch {
		case l.ctx.Err() != nil || conn.IsClosed():
			return
		case err == nil:
			l.deliver(n.Channel, n.Payload)
		case idle && !l.works(conn):
			return
		}
	}
}

// next brings what the connection listens to to what is wanted, and waits for a notification.
func (l *listener) next(
	ctx context.Context, conn *pgx.Conn, listens map[string]bool, wake context.CancelFunc,
) (*pgconn.Notification, error) {
	l.mu.Lock()
	l.wake = wake
	wanted := map[string]bool{}
	for s := range l.subscriptions {
		wanted[s.channel] = true
	}
	l.mu.Unlock()
	if err := l.follow(conn, listens, wanted); err != nil {
		return nil, err
	}
	l.mu.Lock()
	for s, told := range l.subscriptions {
		if !told && listens[s.channel] {
			l.subscriptions[s] = true
			s.add("", true)
		}
	}
	l.mu.Unlock()
	return conn.WaitForNotification(ctx)
}

// follow has the connection listen to what is wanted, and to nothing else. A connection that does not is closed.
func (l *listener) follow(conn *pgx.Conn, listens, wanted map[string]bool) (err error) {
	ctx, cancel := context.WithTimeout(l.ctx, tryPatience)
	defer cancel()
	run := func(statement, channel string) {
		if err == nil {
			_, err = conn.Exec(ctx, statement+" "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol)
		}
	}
	for channel := range wanted {
		if !listens[channel] {
			run("LISTEN", channel)
			listens[channel] = true
		}
	}
	for channel := range listens {
		if !wanted[channel] {
			run("UNLISTEN", channel)
			delete(listens, channel)
		}
	}
	if err != nil {
		_ = conn.Close(ctx)
	}
	return err
}

// works tries the connection.
func (l *listener) works(conn *pgx.Conn) bool {
	ctx, cancel := context.WithTimeout(l.ctx, tryPatience)
	defer cancel()
	return conn.Ping(ctx) == nil
}

func (l *listener) deliver(channel, payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s, told := range l.subscriptions {
		if told && s.channel == channel {
			s.add(payload, false)
		}
	}
}
