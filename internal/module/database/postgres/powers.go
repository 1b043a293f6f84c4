package postgres

import (
	"context"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// readerRole is the predefined role that may read all data, since PostgreSQL 14.
const readerRole = "pg_read_all_data"

// serverRoles are the predefined roles that run programs or reach files of the server.
const serverRoles = "'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'"

// askPowers asks what the account may do beyond the data. Where it is a superuser, reads
// are made as readerRole, unless the connection has a role of its own.
func (db *DB) askPowers(ctx context.Context, own bool) error {
	const ask = "SELECT session_user::text, 'superuser' FROM pg_catalog.pg_roles WHERE rolname = session_user AND rolsuper" +
		" UNION ALL SELECT session_user::text, r.rolname FROM pg_catalog.pg_roles r, pg_catalog.pg_roles me" +
		" WHERE me.rolname = session_user AND r.rolname IN (" + serverRoles + ", '" + readerRole + "')" +
		" AND pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER') ORDER BY 2"
	results, err := db.read.pg.Exec(ctx, ask).ReadAll()
	if err != nil {
		return db.read.convertError(ctx, false, err)
	}
	var roles []string
	super, reader := false, false
	for _, result := range results {
		for _, row := range result.Rows {
			db.powers.Account = string(row[0])
			switch name := string(row[1]); name {
			case "superuser":
				super = true
			case readerRole:
				reader = true
			default:
				roles = append(roles, name)
			}
		}
	}
	quoted := sqltext.Postgres.Quote(db.powers.Account)
	switch {
	case super: // it has all roles
		db.powers.Names, db.powers.Drop = []string{"superuser"}, "ALTER ROLE "+quoted+" NOSUPERUSER"
		if reader && own {
			db.asRole = readerRole
		}
	case len(roles) > 0:
		db.powers.Names, db.powers.Drop = roles, "REVOKE "+strings.Join(roles, ", ")+" FROM "+quoted
	}
	return nil
}

// Powers returns what the account may do beyond the data.
func (db *DB) Powers() engine.Powers { return db.powers }

// roleSwitches are names of functions that change the role of a transaction, or that run
// a text as a statement, in which such a name need not be seen.
var roleSwitches = []string{
	"set_config", "query_to_xml", "ts_stat", "ts_rewrite", "crosstab", "connectby", "xpath_table", "dblink",
}

// serverFunctions are names of functions that reach files of the server and other servers.
var serverFunctions = []string{
	"pg_read_file", "pg_read_binary_file", "pg_ls_", "pg_stat_file", "pg_file_", "lo_import", "lo_export", "lo_put",
	"pg_reload_conf", "pg_rotate_logfile", "pg_terminate_backend", "pg_cancel_backend", "pg_promote", "pg_logfile",
	"pg_current_logfile", "pg_hba_file_rules", "pg_ident_file_mappings", "pg_show_all_file_settings", "pg_file_settings",
}

// checkRead refuses what a read-only transaction would run: statements that do not ask for
// rows and, for an account with powers, functions that would use them.
func (db *DB) checkRead(text string) error {
	if err := noCopy(text); err != nil {
		return err
	}
	if why := sqltext.Reads(sqltext.Postgres, text); why != "" {
		return engine.ReadOnly(why)
	}
	if len(db.powers.Names) == 0 {
		return nil
	}
	refused := roleSwitches
	if db.asRole == "" {
		refused = append(refused[:len(refused):len(refused)], serverFunctions...)
	}
	if name := sqltext.Mentions(text, refused); name != "" {
		return engine.Fail(tool.Denied, "a statement that names %s is not run by a tool that reads: the account %q is too powerful (%s)",
			name, db.powers.Account, strings.Join(db.powers.Names, ", ")).
			WithHint("connect as a role that may only read, or use database.execute_query")
	}
	return nil
}

// begins returns the statement that starts the transaction of a read.
func (db *DB) begins() string {
	if db.asRole == "" {
		return "BEGIN TRANSACTION READ ONLY"
	}
	// Rows that a policy would hide from the role are an error, not a smaller answer.
	return "BEGIN TRANSACTION READ ONLY; SET LOCAL ROLE " + db.asRole + "; SET LOCAL row_security = off"
}
