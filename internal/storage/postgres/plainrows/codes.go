package plainrows

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

// codeColumns are the columns of a table that have the codes of its rows: see package authority.
func codeColumns(t *tables.Table) []string {
	switch t {
	case tables.Documents, tables.Approvals:
		return []string{"mac"}
	case tables.Tasks:
		return []string{"mac", "data_mac"}
	}
	return nil
}

// signed is what the codes of a row are of.
func signed(t *tables.Table, owner string, row tables.Row) []pgnode.Signed {
	text := func(i int) string { s, _ := row[i].(string); return s }
	data := func(i int) []byte { b, _ := row[i].([]byte); return b }
	switch t {
	case tables.Documents:
		return []pgnode.Signed{pgnode.SignedDocument(owner, text(0), text(1), data(3))}
	case tables.Approvals:
		return []pgnode.Signed{pgnode.SignedApproval(owner, text(0), text(1), data(2), data(3))}
	case tables.Tasks:
		attempts, _ := row[12].(int64)
		return []pgnode.Signed{
			pgnode.SignedTask(owner, text(0), text(1), text(2), text(3), data(5), data(6), attempts),
			pgnode.SignedTaskData(owner, text(0), data(7)),
		}
	}
	return nil
}

// codes are the codes of rows, as rows.
func (s *Store) codes(t *tables.Table, rows []tables.Row) []tables.Row {
	all, owners := make([]tables.Row, len(rows)), s.owners(t, rows)
	for i, row := range rows {
		for _, one := range signed(t, owners[i], row) {
			all[i] = append(all[i], s.DB.Sign(one))
		}
	}
	return all
}

// signedTables are those whose rows are signed.
func signedTables() []*tables.Table {
	return []*tables.Table{tables.Documents, tables.Approvals, tables.Tasks}
}

// Codes is what the rows of all nodes have.
type Codes struct {
	Signed   bool // some have a code
	Ours     bool // of a key that this node has
	Unsigned bool // some have none
}

// LookAtCodes says what codes the rows have.
func LookAtCodes(ctx context.Context, db *pgnode.DB) (all Codes, err error) {
	for _, t := range signedTables() {
		one, err := pgnode.QueryOne(ctx, db, func(row pgx.CollectableRow) (c Codes, err error) {
			err = row.Scan(&c.Signed, &c.Ours, &c.Unsigned)
			return c, err
		}, "SELECT EXISTS (SELECT FROM "+t.Name+" WHERE mac IS NOT NULL), "+
			"EXISTS (SELECT FROM "+t.Name+" WHERE substring(mac FROM 1 FOR 8) = ANY ($1)), "+
			"EXISTS (SELECT FROM "+t.Name+" WHERE mac IS NULL)", db.Key().All())
		if err != nil {
			return all, pgnode.ConvertError("postgres.LookAtCodes", err)
		}
		all.Signed, all.Ours, all.Unsigned = all.Signed || one.Signed, all.Ours || one.Ours, all.Unsigned || one.Unsigned
	}
	return all, nil
}

// Sign gives every row of all nodes the code that it should have by the key that signs: rows that have none if trust is
// set, which is for a human to decide, and those with the code of another key of this node. It returns how many those
// were.
func Sign(ctx context.Context, db *pgnode.DB, trust bool) (signed int64, err error) {
	const op = "postgres.Sign"
	if db.Key() == nil {
		return 0, tool.Errorf(op, tool.Unavailable, "this node has no key to sign with")
	}
	for _, t := range signedTables() {
		n, err := signTable(ctx, db, t, trust)
		if signed += n; err != nil {
			return signed, pgnode.ConvertError(op, err)
		}
	}
	return signed, nil
}

const signPage = 500

// forged is what a row gets in the place of a code that claims to be of one of the keys and is not: it is no code.
var forged = []byte{0}

func signTable(ctx context.Context, db *pgnode.DB, t *tables.Table, trust bool) (signed int64, err error) {
	for {
		var n, found int64
		err := db.Transact(ctx, func(ctx context.Context, x *pgnode.Tx) (err error) {
			n, found, err = signRows(ctx, x, db, t, trust)
			return err
		})
		if signed += n; err != nil || found < signPage {
			return signed, err
		}
	}
}

// coded is a row as it is found.
type coded struct {
	place, owner string
	row          tables.Row
	codes        [][]byte
}

// signRows signs a page. What it has looked at is not found again.
func signRows(ctx context.Context, x *pgnode.Tx, db *pgnode.DB, t *tables.Table, trust bool) (changed, found int64, err error) {
	var where []string
	for _, code := range codeColumns(t) {
		where = append(where, "$1 AND "+code+" IS NULL OR substring("+code+" FROM 1 FOR 8) = ANY ($2)")
	}
	rows, err := lookAt(ctx, x, t, strings.Join(where, " OR ")+" LIMIT "+strconv.Itoa(signPage), trust, db.Key().Earlier())
	if err != nil {
		return 0, 0, err
	}
	changed, err = recode(ctx, x, t, rows, func(c *coded, i int) []byte {
		code, of := c.codes[i], signed(t, c.owner, c.row)[i]
		switch {
		case code == nil && !trust, db.Key().IsNewest(code):
			return code
		case code == nil, db.Signs(code, of):
			return db.Sign(of)
		}
		return forged
	})
	return changed, int64(len(rows)), err
}

// Adopt signs rows that another node had, and that are this one's now. One that was not believed is not believed here.
func Adopt(ctx context.Context, x *pgnode.Tx, db *pgnode.DB, t *tables.Table, from, where string, args ...any) error {
	if db.Key() == nil {
		return nil
	}
	rows, err := lookAt(ctx, x, t, where, args...)
	if err != nil {
		return err
	}
	_, err = recode(ctx, x, t, rows, func(c *coded, i int) []byte {
		if !db.Signs(c.codes[i], signed(t, from, c.row)[i]) {
			return forged
		}
		return db.Sign(signed(t, c.owner, c.row)[i])
	})
	return err
}

// Verify returns an error for the first row of the node, or of all nodes, that is not believed.
func Verify(ctx context.Context, db *pgnode.DB) error {
	if db.Key() == nil {
		return nil
	}
	for _, t := range signedTables() {
		_, err := pgnode.Query(ctx, db, func(row pgx.CollectableRow) (none struct{}, err error) {
			c, err := scanCoded(t, row)
			for i, of := range signed(t, c.owner, c.row) {
				if err == nil {
					err = db.Believe(c.codes[i], of)
				}
			}
			return none, err
		}, selectCoded(t)+"node IN ($1, '')", db.NodeID())
		if err != nil {
			return pgnode.ConvertError("postgres.Verify", err)
		}
	}
	return nil
}

// lookAt reads rows with their codes, and keeps them from being changed.
func lookAt(ctx context.Context, x *pgnode.Tx, t *tables.Table, where string, args ...any) ([]coded, error) {
	return pgnode.QueryTx(ctx, x, func(row pgx.CollectableRow) (coded, error) { return scanCoded(t, row) },
		selectCoded(t)+where+" FOR UPDATE", args...)
}

// selectCoded begins a statement that reads rows with their codes.
func selectCoded(t *tables.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = c.Name
	}
	return "SELECT ctid::text, node, " + strings.Join(append(columns, codeColumns(t)...), ", ") + " FROM " + t.Name + " WHERE "
}

func scanCoded(t *tables.Table, row pgx.CollectableRow) (c coded, err error) {
	values, err := row.Values()
	if err != nil {
		return c, err
	}
	c.place, _ = values[0].(string)
	c.owner, _ = values[1].(string)
	c.row = tables.Row(values[2 : 2+len(t.Columns)])
	for i := range c.row {
		c.row[i] = cell(t, i, c.row[i])
	}
	for _, code := range values[2+len(t.Columns):] {
		b, _ := code.([]byte)
		c.codes = append(c.codes, b)
	}
	return c, nil
}

// recode gives rows other codes.
func recode(
	ctx context.Context, x *pgnode.Tx, t *tables.Table, rows []coded, code func(*coded, int) []byte,
) (changed int64, err error) {
	var set []string
	for i, name := range codeColumns(t) {
		set = append(set, name+" = $"+strconv.Itoa(i+2))
	}
	update := "UPDATE " + t.Name + " SET " + strings.Join(set, ", ") + " WHERE ctid = $1::text::tid"
	for i := range rows {
		args := []any{rows[i].place}
		for j := range rows[i].codes {
			args = append(args, code(&rows[i], j))
		}
		n, err := x.Exec(ctx, update, args...)
		if changed += n; err != nil {
			return changed, err
		}
	}
	return changed, nil
}
