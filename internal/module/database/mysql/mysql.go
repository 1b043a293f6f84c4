// Package mysql is the engine for MySQL and MariaDB.
//
// It uses the driver's connections directly and no pool of database/sql: KILL
// QUERY on a second connection stops a statement, and needs to know which
// connection the statement runs on. Several statements in one text are never
// enabled, so the server accepts only one. Values travel beside the statement,
// never in it.
//
// # Reading
//
// The reading connection is SET SESSION TRANSACTION READ ONLY, and each read is a
// transaction that starts READ ONLY and is rolled back. The server does not apply
// this to SET GLOBAL, KILL, FLUSH, LOCK TABLES, a procedure that commits, and
// SELECT … INTO OUTFILE. So beside the server's own refusal, which protects the
// data, a read must start with a keyword that asks for rows and may not read or
// write a file. A user without the FILE privilege is the better protection against
// that; where an app only reads, a user with it is refused.
package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// Config names a server and the user of it.
type Config struct {
	Host     string // a host, or the path of a unix socket
	Port     int    // 0 is 3306
	User     string
	Password string
	Database string
	TLS      string // disable, prefer, require, verify-ca or verify-full; "" is prefer
	TimeZone string // of the session; "" is the server's
	// Dial connects to the server; nil is a plain dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// tlsModes are the driver's names for the modes of Config.TLS.
var tlsModes = map[string]string{
	"": "preferred", "prefer": "preferred", "disable": "false", "require": "skip-verify",
	"verify-ca": "true", "verify-full": "true",
}

// DB is one database of a server.
type DB struct {
	read, write *conn
	info        engine.Info
	powers      engine.Powers
}

var (
	_ engine.Engine   = (*DB)(nil)
	_ engine.Powerful = (*DB)(nil)
)

// Open connects to the server, to read.
func Open(ctx context.Context, c Config) (*DB, error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = c.User, c.Password, c.Database
	port := c.Port
	if port == 0 {
		port = 3306
	}
	config.Net, config.Addr = "tcp", net.JoinHostPort(c.Host, strconv.Itoa(port))
	if strings.HasPrefix(c.Host, "/") {
		config.Net, config.Addr = "unix", c.Host
	}
	config.TLSConfig = tlsModes[c.TLS]
	config.DialFunc = c.Dial
	config.MaxAllowedPacket = engine.MaxMessage
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, engine.Fail(tool.Invalid, "these are not the details of a MySQL server").
			WithHint("check host, port, user, database and tls")
	}
	db := &DB{read: newConn(connector, c.TimeZone, true), write: newConn(connector, c.TimeZone, false)}
	if err := db.read.acquire(ctx); err != nil {
		return nil, err
	}
	defer db.read.lock.Release()
	product := "MySQL "
	if db.read.maria {
		product = ""
	}
	db.info = engine.Info{
		Dialect: sqltext.MySQL, Product: product + db.read.version, Place: c.User + "@" + config.Addr + "/" + c.Database,
	}
	db.powers, err = db.read.askPowers(ctx)
	return db, err
}

// Powers returns what the account may do beyond the data.
func (db *DB) Powers() engine.Powers { return db.powers }

// Info describes the database.
func (db *DB) Info() engine.Info { return db.info }

// Close closes both connections when no statement runs on them.
func (db *DB) Close() error { return errors.Join(db.read.close(), db.write.close()) }

// conn is one connection, which is opened when it is needed.
type conn struct {
	connector driver.Connector
	zone      string
	reads     bool
	lock      *engine.ConnLock

	raw     driver.Conn
	id      uint64 // the server's ID of the connection
	version string
	maria   bool
	limit   int64 // seconds of the time limit that the server has; -1 for none
}

func newConn(c driver.Connector, zone string, reads bool) *conn {
	return &conn{connector: c, zone: zone, reads: reads, lock: engine.NewConnLock()}
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
	if c.raw != nil && c.raw.(driver.SessionResetter).ResetSession(ctx) == nil {
		return nil
	}
	c.drop()
	raw, err := c.connector.Connect(ctx)
	if err != nil {
		return unreachable(ctx, err)
	}
	c.raw, c.limit = raw, -1
	if err := c.initSession(ctx); err != nil {
		c.drop()
		return err
	}
	return nil
}

// initSession sets up the session and reads the version of the server.
func (c *conn) initSession(ctx context.Context) error {
	if c.zone != "" {
		if err := c.exec(ctx, "SET time_zone = ?", c.zone); err != nil {
			return err
		}
	}
	if c.reads {
		if err := c.exec(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
			return err
		}
	}
	identity := engine.Statement{SQL: "SELECT CONNECTION_ID(), VERSION()"}
	return c.each(ctx, identity, nil, func(cells []driver.Value) bool {
		c.id, _ = strconv.ParseUint(text(cells[0]), 10, 64)
		c.version = text(cells[1])
		c.maria = strings.Contains(c.version, "MariaDB")
		return true
	})
}

// drop closes the connection; the server rolls back what was not committed.
func (c *conn) drop() {
	if c.raw != nil {
		_ = c.raw.Close()
		c.raw = nil
	}
}

func (c *conn) close() error {
	return c.lock.Close(func() error {
		c.drop()
		return nil
	})
}

// text returns a value as a text, for the few values that the engine reads itself.
func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// limitTime gives the server a time limit for statements. It is the second line
// of defence: the context kills a statement first. MySQL applies it to SELECT only.
func (c *conn) limitTime(ctx context.Context) error {
	end, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	seconds := int64(time.Until(end).Seconds()) + 2
	if seconds == c.limit {
		return nil
	}
	text := "SET SESSION max_execution_time = " + strconv.FormatInt(seconds*1000, 10)
	if c.maria {
		text = "SET SESSION max_statement_time = " + strconv.FormatInt(seconds, 10)
	}
	if err := c.exec(ctx, text); err != nil {
		return err
	}
	c.limit = seconds
	return nil
}

// runCancellable runs f with a context that does not end with the caller's. When
// the caller's context ends, it kills the statement in the server, and cuts the
// connection if the kill does not help. It reports whether it killed; such a
// connection is not used again, since the kill might hit the next statement.
func (c *conn) runCancellable(ctx context.Context, f func(context.Context) error) (killed bool, err error) {
	inner, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	finished, killDone := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killDone)
		c.kill()
		select {
		case <-finished:
		case <-time.After(engine.Grace):
			cut()
		}
	})
	err = f(inner)
	close(finished)
	if !stop() {
		<-killDone
		return true, err
	}
	return false, err
}

// kill stops the statement of the connection, through a second connection.
func (c *conn) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), engine.Grace)
	defer cancel()
	other, err := c.connector.Connect(ctx)
	if err != nil {
		return // runCancellable cuts the connection after its grace
	}
	defer other.Close()
	_, _ = other.(driver.ExecerContext).ExecContext(ctx, "KILL QUERY "+strconv.FormatUint(c.id, 10), nil)
}

// unreachable returns the error of a connection that cannot be opened, without
// secrets.
func unreachable(ctx context.Context, err error) error {
	var refusal *mysql.MySQLError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &refusal):
		return engine.Fail(tool.Unavailable, "the server cannot be reached: %v", err).WithHint("check host, port and tls")
	}
	kind := tool.Unavailable
	switch refusal.Number {
	case 1044, 1045, 1698:
		kind = tool.Denied
	case 1049:
		kind = tool.NotFound
	}
	return engine.Fail(kind, "the server refused the connection: %s", refusal.Message).
		WithHint("check user, password and database; a password comes from the app file's setup or credential, by a secret")
}
