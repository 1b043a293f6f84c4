// Package quotas counts what users and teams use, for all nodes of a database.
//
// # Law
//
//   - A charge is one statement that adds its amount if that fits under the limit, and changes no row if not. The
//     charges of one use are one transaction, in one order everywhere: all are counted, or none.
//   - Periods are those of the database's clock.
//   - A place at once is decided under an advisory lock of its account and kind. What this node holds is known here,
//     and written as a whole number: a release of which the database has not heard is made good by the next write.
//   - What a node holds counts while it is in the epoch in which it wrote it and its lease is not over.
package quotas

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/quota"
	"callgate/internal/storage/postgres/pgnode"
)

// Counters are the counters of a database. Make them with New.
type Counters struct {
	db   *pgnode.DB
	held holds
}

var _ quota.Counters = (*Counters)(nil)

// New makes the counters of the database that a node has open. They end with ctx.
func New(ctx context.Context, db *pgnode.DB) *Counters {
	return &Counters{db: db, held: holds{db: db, ctx: ctx, own: map[place]*own{}}}
}

// add counts one charge, if it fits. $1 account, $2 kind, $3 span, $4 amount, $5 the most, or 0.
const add = `INSERT INTO quota_used AS u (account, kind, begins, used)
	SELECT $1::text, $2::text, date_trunc($3::text, clock_timestamp(), 'UTC'), $4::bigint
		WHERE $5::bigint = 0 OR $4::bigint <= $5::bigint
	ON CONFLICT (account, kind) DO UPDATE SET begins = greatest(u.begins, excluded.begins),
		used = CASE WHEN u.begins < excluded.begins THEN 0 ELSE u.used END + $4::bigint
	WHERE $5::bigint = 0 OR CASE WHEN u.begins < excluded.begins THEN 0 ELSE u.used END <= $5::bigint - $4::bigint`

// Add counts all charges, or none.
func (c *Counters) Add(ctx context.Context, charges []quota.Charge) (at time.Time, err error) {
	err = c.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		var batch pgx.Batch
		for _, one := range charges {
			batch.Queue(add, one.Account, string(one.Kind), one.Kind.Span(), one.Amount, one.Most)
		}
		counts, err := t.ExecAll(ctx, &batch)
		if err != nil {
			return err
		}
		for i, n := range counts {
			if n == 0 {
				return full(ctx, t, charges[i])
			}
		}
		at, err = pgnode.QueryOneTx(ctx, t, pgx.RowTo[time.Time], "SELECT clock_timestamp()")
		return err
	})
	return at, convert("quotas.Add", err)
}

// full says why a charge does not fit.
func full(ctx context.Context, t *pgnode.Tx, c quota.Charge) error {
	type row struct {
		Begins, Now time.Time
		Used        int64
	}
	const look = "SELECT begins, clock_timestamp(), CASE WHEN begins < date_trunc($3::text, clock_timestamp(), 'UTC') " +
		"THEN 0 ELSE used END FROM quota_used WHERE account = $1 AND kind = $2"
	is, err := pgnode.QueryOneTx(ctx, t, pgx.RowToStructByPos[row], look, c.Account, string(c.Kind), c.Kind.Span())
	if errors.Is(err, pgx.ErrNoRows) {
		is.Now, err = pgnode.QueryOneTx(ctx, t, pgx.RowTo[time.Time], "SELECT clock_timestamp()")
	}
	if err != nil {
		return err
	}
	begins := c.Kind.BeginOf(is.Now)
	if is.Begins.After(begins) {
		begins = is.Begins
	}
	return &quota.Full{Charge: c, Used: is.Used, Until: c.Kind.EndOf(begins), Now: is.Now}
}

// Correct adds amounts to the periods of a time, as far as they are not over.
func (c *Counters) Correct(ctx context.Context, at time.Time, charges []quota.Charge) error {
	return convert("quotas.Correct", c.db.Transact(ctx, func(ctx context.Context, t *pgnode.Tx) error {
		const correct = "UPDATE quota_used SET used = greatest(0, used + $3::bigint) " +
			"WHERE account = $1 AND kind = $2 AND begins = $4"
		var batch pgx.Batch
		for _, one := range charges {
			batch.Queue(correct, one.Account, string(one.Kind), one.Amount, one.Kind.BeginOf(at))
		}
		_, err := t.ExecAll(ctx, &batch)
		return err
	}))
}

// Read returns what is counted in accounts, or in all of them.
func (c *Counters) Read(ctx context.Context, accounts []string) ([]quota.Used, error) {
	type row struct {
		Account, Kind string
		Begins        *time.Time
		Amount        int64
		Now           time.Time
	}
	const read = `SELECT account, kind, begins, used, clock_timestamp() FROM quota_used
			WHERE cardinality($1::text[]) = 0 OR account = ANY ($1)
		UNION ALL SELECT account, kind, NULL, sum(held)::bigint, clock_timestamp() FROM quota_held h
			JOIN nodes n ON n.id = h.node AND n.epoch = h.epoch
			WHERE n.lease_until > clock_timestamp() AND (cardinality($1::text[]) = 0 OR account = ANY ($1))
			GROUP BY account, kind
		ORDER BY 1, 2`
	if accounts == nil {
		accounts = []string{}
	}
	rows, err := pgnode.Query(ctx, c.db, pgx.RowToStructByPos[row], read, accounts)
	if err != nil {
		return nil, convert("quotas.Read", err)
	}
	var all []quota.Used
	for _, r := range rows {
		u := quota.Used{Account: r.Account, Kind: quota.Kind(r.Kind), Amount: r.Amount}
		if r.Begins != nil {
			u.Until = u.Kind.EndOf(*r.Begins)
			if !u.Until.After(r.Now) { // that period is over
				continue
			}
		}
		if u.Amount > 0 {
			all = append(all, u)
		}
	}
	return all, nil
}

// convert leaves what says that a limit is reached as it is.
func convert(op string, err error) error {
	var full *quota.Full
	if errors.As(err, &full) {
		return full
	}
	return pgnode.ConvertError(op, err)
}

// place is where something is held.
type place struct {
	account string
	kind    quota.Kind
}

// own is what this node holds at a place.
type own struct {
	mu   sync.Mutex
	held int64
	told int64 // that the database knows of, as far as this node does
}
