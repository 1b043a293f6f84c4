// Package mysql is the engine of MySQL and MariaDB.
//
// It uses the driver's connections directly, not a pool of database/sql: a
// statement that must be stopped is stopped by KILL QUERY on a second
// connection, for which one must know which connection it runs on. Several
// statements in one text are never enabled, so the server accepts only one;
// values travel beside the statement, never in it.
//
// # Reading
//
// The reading connection is SET SESSION TRANSACTION READ ONLY, and each read
// is a transaction that starts READ ONLY and is rolled back. Some things are
// no transaction's business to the server: SET GLOBAL, KILL, FLUSH, LOCK
// TABLES, a procedure that commits, SELECT … INTO OUTFILE. So beside the
// server's own refusal, which is what counts for data, a read must start with
// a word that asks for rows, and may not write a file. A user without the FILE
// privilege is the better wall for that.
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

// Config is where a server is and who we are to it.
type Config struct {
	Host, User, Password, Database string                                                               // a host that is a path is a unix socket
	Port                           int                                                                  // 0 is 3306
	TLS                            string                                                               // disable, prefer, require, verify-ca or verify-full; "" is prefer
	TimeZone                       string                                                               // of the session; "" is the server's
	Dial                           func(ctx context.Context, network, address string) (net.Conn, error) // nil is the system's
}

// DB is one database of a server.
type DB struct {
	read, write *conn
	about       engine.Info
}

var _ engine.Engine = (*DB)(nil)

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
	config.TLSConfig = map[string]string{"": "preferred", "prefer": "preferred", "disable": "false", "require": "skip-verify", "verify-ca": "true", "verify-full": "true"}[c.TLS]
	config.DialFunc = c.Dial
	config.MaxAllowedPacket = engine.MaxMessage
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, engine.Fail(tool.Invalid, "these are not the details of a MySQL server; see host, port, user, database and tls")
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
	db.about = engine.Info{Dialect: sqltext.MySQL, Product: product + db.read.version, Place: c.User + "@" + config.Addr + "/" + c.Database}
	return db, nil
}

// Info says what the database is.
func (db *DB) Info() engine.Info { return db.about }

// Close closes both connections, once nothing runs on them.
func (db *DB) Close() error { return errors.Join(db.read.close(), db.write.close()) }

// conn is one connection, opened when it is needed.
type conn struct {
	connector driver.Connector
	zone      string
	reads     bool
	lock      *engine.ConnLock

	raw     driver.Conn
	id      uint64 // the server's name for it
	version string
	maria   bool
	limit   int64 // seconds that the server was told a statement may take
}

func newConn(c driver.Connector, zone string, reads bool) *conn {
	return &conn{connector: c, zone: zone, reads: reads, lock: engine.NewConnLock()}
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

// initSession sets the session up and learns who answers.
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
	return c.each(ctx, engine.Statement{SQL: "SELECT CONNECTION_ID(), VERSION()"}, nil, func(cells []driver.Value) bool {
		c.id, _ = strconv.ParseUint(text(cells[0]), 10, 64)
		c.version = text(cells[1])
		c.maria = strings.Contains(c.version, "MariaDB")
		return true
	})
}

// drop closes the connection; the server undoes what was not committed.
func (c *conn) drop() {
	if c.raw != nil {
		_ = c.raw.Close()
		c.raw = nil
	}
}

func (c *conn) close() error {
	if err := c.lock.Close(); err != nil {
		return err
	}
	defer c.lock.Release()
	c.drop()
	return nil
}

// text is a value as a text, for the few that the engine reads itself.
func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// within tells the server how long a statement may take: a second line, for
// the context kills first. MySQL heeds it in SELECT only.
func (c *conn) within(ctx context.Context) error {
	end, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	seconds := int64(time.Until(end).Seconds()) + 2
	if seconds == c.limit {
		return nil
	}
	words := "SET SESSION max_execution_time = " + strconv.FormatInt(seconds*1000, 10)
	if c.maria {
		words = "SET SESSION max_statement_time = " + strconv.FormatInt(seconds, 10)
	}
	if err := c.exec(ctx, words); err != nil {
		return err
	}
	c.limit = seconds
	return nil
}

// runCancellable runs f with a context that does not end with the asker's. When the
// asker's does, what runs is killed in the server, and the connection is cut
// if even that does not help. It reports whether it was; such a connection is
// not used again, since the kill might still strike what comes next.
func (c *conn) runCancellable(ctx context.Context, f func(context.Context) error) (killed bool, err error) {
	inner, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	finished, over := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
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
		<-over
		return true, err
	}
	return false, err
}

// kill stops what runs on the connection, by a second one.
func (c *conn) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), engine.Grace)
	defer cancel()
	other, err := c.connector.Connect(ctx)
	if err != nil {
		return // the connection is cut a moment later
	}
	defer other.Close()
	_, _ = other.(driver.ExecerContext).ExecContext(ctx, "KILL QUERY "+strconv.FormatUint(c.id, 10), nil)
}

// unreachable says why there is no connection, without what is secret.
func unreachable(ctx context.Context, err error) error {
	var said *mysql.MySQLError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &said):
		return engine.Fail(tool.Unavailable, "the server cannot be reached: %v", err).WithHint("check host, port and tls")
	}
	kind := tool.Unavailable
	switch said.Number {
	case 1044, 1045, 1698:
		kind = tool.Denied
	case 1049:
		kind = tool.NotFound
	}
	return engine.Fail(kind, "the server refused the connection: %s", said.Message).
		WithHint("check user, password and database; a password comes from the app file's setup or credential, by a secret")
}
