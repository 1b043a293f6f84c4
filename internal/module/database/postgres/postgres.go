// Package postgres is the engine of PostgreSQL.
//
// It speaks the protocol through pgconn, the lower half of pgx, rather than
// through database/sql, for three things that the other half hides: every
// statement goes by the extended protocol, so the server itself accepts only
// one; the number of rows that a statement changed comes with its rows; and
// values arrive as the server writes them, which is exact and needs no
// decoding. A context that ends sends the server a cancel request, and the
// connection lives on.
//
// # Reading
//
// The reading connection has default_transaction_read_only set. A read is a
// transaction that starts READ ONLY and has taken its snapshot before the
// asker's statement comes, after which the server lets nobody make it
// writable; it is rolled back in the end. What a read-only transaction does
// not stop is written down in docs/guides/database.md.
package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Config is where a server is and who we are to it. Nothing is taken from the
// environment or from files of the user's.
type Config struct {
	Host, User, Password, Database string // a host that is a path is the folder of a unix socket
	Port                           int    // 0 is 5432
	TLS                            string // disable, prefer, require, verify-ca or verify-full; "" is prefer
	Params                         map[string]string
	Dial                           func(ctx context.Context, network, address string) (net.Conn, error) // nil is the system's
}

// DB is one database of a server.
type DB struct {
	read, write *conn
	about       engine.Info
}

var (
	_ engine.Engine = (*DB)(nil)
	_ engine.Copier = (*DB)(nil)
)

// Open connects to the server, to read.
func Open(ctx context.Context, c Config) (*DB, error) {
	reader, err := c.pgconn(true)
	if err != nil {
		return nil, err
	}
	writer, err := c.pgconn(false)
	if err != nil {
		return nil, err
	}
	db := &DB{read: newConn(reader), write: newConn(writer)}
	if err := db.read.acquire(ctx); err != nil {
		return nil, err
	}
	defer db.read.lock.Release()
	db.about = engine.Info{
		Dialect: sqltext.Postgres,
		Product: "PostgreSQL " + db.read.pg.ParameterStatus("server_version"),
		Place:   reader.User + "@" + reader.Host + ":" + strconv.Itoa(int(reader.Port)) + "/" + reader.Database,
	}
	return db, nil
}

// pgconn makes a configuration of pgconn's. It must come from a text, and
// every key that would otherwise be filled from somewhere else is in it.
func (c Config) pgconn(reads bool) (*pgconn.Config, error) {
	port := c.Port
	if port == 0 {
		port = 5432
	}
	database := c.Database
	if database == "" {
		database = c.User
	}
	mode := c.TLS
	if mode == "" {
		mode = "prefer"
	}
	var text strings.Builder
	for _, kv := range [][2]string{
		{"host", c.Host}, {"port", strconv.Itoa(port)}, {"user", c.User}, {"password", c.Password}, {"dbname", database}, {"sslmode", mode},
		{"passfile", os.DevNull}, {"servicefile", os.DevNull}, {"sslcert", ""}, {"sslkey", ""}, {"sslrootcert", ""}, {"sslpassword", ""},
		{"target_session_attrs", "any"}, {"require_auth", ""}, {"channel_binding", "prefer"},
	} {
		value := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(kv[1])
		text.WriteString(kv[0] + "='" + value + "' ")
	}
	config, err := pgconn.ParseConfig(text.String())
	if err != nil {
		return nil, engine.Fail(tool.Invalid, "these are not the details of a PostgreSQL server; see host, port, user, database and tls").
			WithHint("a variable PGSERVICE in the kernel's environment is not served either")
	}
	config.RuntimeParams = map[string]string{
		"application_name": "callgate", "client_encoding": "UTF8", "DateStyle": "ISO", "IntervalStyle": "postgres",
		"bytea_output": "hex", "standard_conforming_strings": "on", "extra_float_digits": "1",
	}
	for k, v := range c.Params {
		config.RuntimeParams[k] = v
	}
	if reads {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	if c.Dial != nil { // which resolves names itself
		config.DialFunc = c.Dial
		config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	}
	config.MaxProtocolMessageBodyLen = engine.MaxMessage
	config.BuildContextWatcherHandler = func(pg *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pg, DeadlineDelay: engine.Grace}
	}
	return config, nil
}

// Info says what the database is.
func (db *DB) Info() engine.Info { return db.about }

// Close closes both connections, once nothing runs on them.
func (db *DB) Close() error {
	return errors.Join(db.read.close(), db.write.close())
}

// conn is one connection, opened when it is needed.
type conn struct {
	config *pgconn.Config
	lock   *engine.ConnLock
	pg     *pgconn.PgConn
	types  map[uint32]string // names of types that are not built in
}

func newConn(c *pgconn.Config) *conn {
	return &conn{config: c, lock: engine.NewConnLock(), types: map[uint32]string{}}
}

// acquire takes the turn on a connection that is open.
func (c *conn) acquire(ctx context.Context) error {
	if err := c.lock.Acquire(ctx); err != nil {
		return err
	}
	if err := c.open(ctx); err != nil {
		c.lock.Release()
		return err
	}
	return nil
}

func (c *conn) open(ctx context.Context) error {
	if c.pg != nil && !c.pg.IsClosed() {
		return nil
	}
	pg, err := pgconn.ConnectConfig(ctx, c.config)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	c.pg = pg
	return nil
}

func (c *conn) close() error {
	if err := c.lock.Close(); err != nil {
		return err
	}
	defer c.lock.Release()
	if c.pg == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), engine.Grace)
	defer cancel()
	return c.pg.Close(ctx)
}

// begin starts a transaction with the words given, or none, and tells the
// server how long a statement may take: a second line, for the context cancels
// first. A connection that turns out to have been dead is opened again once:
// nothing has been asked of it yet.
func (c *conn) begin(ctx context.Context, words string) error {
	limit := "statement_timeout=0"
	if end, ok := ctx.Deadline(); ok {
		limit = "statement_timeout=" + strconv.FormatInt(max(1, time.Until(end).Milliseconds()+1000), 10)
	}
	text := "SET " + limit
	if words != "" {
		text = words + "; SET LOCAL " + limit + "; SELECT 1" // which takes the snapshot
	}
	_, err := c.pg.Exec(ctx, text).ReadAll()
	if err != nil && c.pg.IsClosed() && ctx.Err() == nil {
		if err = c.open(ctx); err != nil {
			return err
		}
		_, err = c.pg.Exec(ctx, text).ReadAll()
	}
	return c.convertError(ctx, false, err)
}

// rollback ends a transaction, though its context may have ended. Where that
// fails, the connection does.
func (c *conn) rollback(ctx context.Context) {
	if c.pg.IsClosed() || c.pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.Grace)
	defer cancel()
	if _, err := c.pg.Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		_ = c.pg.Close(ctx)
	}
}

// unreachable says why there is no connection, without what is secret.
func (c *conn) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		kind := tool.Unavailable
		switch {
		case strings.HasPrefix(said.Code, "28"):
			kind = tool.Denied
		case said.Code == "3D000":
			kind = tool.NotFound
		}
		return engine.Fail(kind, "the server refused the connection: %s", said.Message).
			WithHint("check user, password and database; a password comes from the app file's setup or credential, by a secret")
	}
	var insecure *tls.CertificateVerificationError
	if errors.As(err, &insecure) {
		return engine.Fail(tool.Unavailable, "the server's certificate is not trusted: %v", insecure.Err).WithHint(`see tls; "require" encrypts without verifying`)
	}
	return engine.Fail(tool.Unavailable, "the server cannot be reached: %s", strings.Join(strings.Fields(err.Error()), " ")).
		WithHint("check host, port and tls")
}
