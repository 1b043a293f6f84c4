// Package postgres is the engine for PostgreSQL.
//
// It uses pgconn, the lower half of pgx, and not database/sql, for three reasons:
// every statement goes through the extended protocol, so the server itself
// accepts only one; the number of changed rows comes together with the rows; and
// values arrive as the server formats them, which is exact and needs no decoding.
// When a context ends, pgconn sends the server a cancel request, and the
// connection stays open.
//
// # Reading
//
// The reading connection has default_transaction_read_only set. A read is a
// transaction that starts READ ONLY and takes its snapshot before the caller's
// statement, after which the server lets no statement make it writable. It is
// rolled back at the end. docs/guides/database.md lists what a read-only
// transaction does not stop.
//
// A superuser's read is made as the role pg_read_all_data, which may read every table,
// run no program and reach no file of the server. Statements that could take the role
// back are refused; see powers.go.
package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
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

// Config names a server and the user of it. The engine takes nothing from the
// environment or from files of the user.
type Config struct {
	Host     string // a host, or the folder of a unix socket
	Port     int    // 0 is 5432
	User     string
	Password string
	Database string            // "" is the user's name
	TLS      string            // disable, prefer, require, verify-ca or verify-full; "" is prefer
	Params   map[string]string // settings of the session
	// Dial connects to the server; nil is a plain dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DB is one database of a server.
type DB struct {
	read, write *conn
	info        engine.Info
	powers      engine.Powers
	asRole      string // the role that reads are made as; "": that of the connection
}

var (
	_ engine.Engine   = (*DB)(nil)
	_ engine.Copier   = (*DB)(nil)
	_ engine.Powerful = (*DB)(nil)
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
	db.info = engine.Info{
		Dialect: sqltext.Postgres,
		Product: "PostgreSQL " + db.read.pg.ParameterStatus("server_version"),
		Place:   reader.User + "@" + reader.Host + ":" + strconv.Itoa(int(reader.Port)) + "/" + reader.Database,
	}
	if err := db.askPowers(ctx, c.Params["role"] == ""); err != nil {
		return nil, errors.Join(err, db.read.pg.Close(ctx))
	}
	return db, nil
}

// connString returns the connection string for pgconn. It sets every key that
// pgconn would otherwise take from the environment or from a file.
func (c Config) connString() string {
	var text strings.Builder
	for _, kv := range [][2]string{
		{"host", c.Host}, {"port", strconv.Itoa(cmp.Or(c.Port, 5432))},
		{"user", c.User}, {"password", c.Password}, {"dbname", cmp.Or(c.Database, c.User)},
		{"sslmode", cmp.Or(c.TLS, "prefer")}, {"passfile", os.DevNull}, {"servicefile", os.DevNull},
		{"sslcert", ""}, {"sslkey", ""}, {"sslrootcert", ""}, {"sslpassword", ""},
		{"target_session_attrs", "any"}, {"require_auth", ""}, {"channel_binding", "prefer"},
	} {
		value := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(kv[1])
		text.WriteString(kv[0] + "='" + value + "' ")
	}
	return text.String()
}

// pgconn returns the configuration of a connection that reads or writes.
func (c Config) pgconn(reads bool) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(c.connString())
	if err != nil {
		return nil, engine.Fail(tool.Invalid, "these are not the details of a PostgreSQL server").
			WithHint("check host, port, user, database and tls; PGSERVICE in the kernel's environment must be unset")
	}
	config.RuntimeParams = map[string]string{
		"application_name": "callgate", "client_encoding": "UTF8", "DateStyle": "ISO", "IntervalStyle": "postgres",
		"bytea_output": "hex", "standard_conforming_strings": "on", "extra_float_digits": "1",
	}
	maps.Copy(config.RuntimeParams, c.Params)
	if reads {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	if c.Dial != nil { // it resolves names itself
		config.DialFunc = c.Dial
		config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	}
	config.MaxProtocolMessageBodyLen = engine.MaxMessage
	config.BuildContextWatcherHandler = func(pg *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pg, DeadlineDelay: engine.Grace}
	}
	return config, nil
}

// Info describes the database.
func (db *DB) Info() engine.Info { return db.info }

// Close closes both connections when no statement runs on them.
func (db *DB) Close() error {
	return errors.Join(db.read.close(), db.write.close())
}

// conn is one connection, which is opened when it is needed.
type conn struct {
	config *pgconn.Config
	lock   *engine.ConnLock
	pg     *pgconn.PgConn
	types  map[uint32]string // names of types that are not built in
}

func newConn(c *pgconn.Config) *conn {
	return &conn{config: c, lock: engine.NewConnLock(), types: map[uint32]string{}}
}

// acquire takes the lock of the connection and opens it.
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
	return c.lock.Close(func() error {
		if c.pg == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), engine.Grace)
		defer cancel()
		return c.pg.Close(ctx)
	})
}

// begin starts a transaction with the given statement, or none for "", and gives
// the server a time limit for statements. The limit is the second line of
// defence: the context cancels a statement first. begin reopens a connection that
// turns out to be dead, once; no statement of the caller was sent yet.
func (c *conn) begin(ctx context.Context, start string) error {
	limit := "statement_timeout=0"
	if end, ok := ctx.Deadline(); ok {
		limit = "statement_timeout=" + strconv.FormatInt(max(1, time.Until(end).Milliseconds()+1000), 10)
	}
	text := "SET " + limit
	if start != "" {
		text = start + "; SET LOCAL " + limit + "; SELECT 1" // the SELECT takes the snapshot
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

// rollback ends a transaction even if its context has ended. Where that fails, it
// closes the connection.
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

// unreachable returns the error of a connection that cannot be opened, without
// secrets.
func (c *conn) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		kind := tool.Unavailable
		switch {
		case strings.HasPrefix(refusal.Code, "28"):
			kind = tool.Denied
		case refusal.Code == "3D000":
			kind = tool.NotFound
		}
		return engine.Fail(kind, "the server refused the connection: %s", refusal.Message).
			WithHint("check user, password and database; a password comes from the app file's setup or credential, by a secret")
	}
	var insecure *tls.CertificateVerificationError
	if errors.As(err, &insecure) {
		return engine.Fail(tool.Unavailable, "the server's certificate is not trusted: %v", insecure.Err).
			WithHint(`see tls; "require" encrypts without verifying`)
	}
	reason := strings.Join(strings.Fields(err.Error()), " ")
	return engine.Fail(tool.Unavailable, "the server cannot be reached: %s", reason).
		WithHint("check host, port and tls")
}
