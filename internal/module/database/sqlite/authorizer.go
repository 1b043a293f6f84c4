package sqlite

import (
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
)

// state is the kind of statement that a connection runs.
type state int32

const (
	internal state = iota // a statement of the engine
	reading               // a caller's statement that may only read
	writing               // a caller's statement that may write
	within                // a caller's statement in a transaction
)

// authorizer decides about each action of a statement. SQLite asks it while it
// compiles the statement.
type authorizer struct {
	state  atomic.Int32
	reason atomic.Value // string: why an action was refused
}

// set sets the state and forgets the last refusal.
func (a *authorizer) set(s state) {
	a.state.Store(int32(s))
	a.reason.Store("")
}

// refusal returns why an action was refused since the state was set, or "".
func (a *authorizer) refusal() string {
	s, _ := a.reason.Load().(string)
	return s
}

func (a *authorizer) authorize(
	action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string,
) sqlite.AuthorizerReturnCode {
	s := state(a.state.Load())
	if s == internal {
		return sqlite.AuthorizerOK
	}
	if reason := refusalOf(s, action, arg1, arg2); reason != "" {
		a.reason.Store(reason)
		return sqlite.AuthorizerDeny
	}
	return sqlite.AuthorizerOK
}

// refusalOf returns why an action is not allowed in a state, or "" where it is.
func refusalOf(s state, action sqlite.AuthorizerActionCode, arg1, arg2 string) string {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return ""
	case sqlite.AuthFunction:
		if strings.EqualFold(arg2, "load_extension") {
			return "extensions are never loaded"
		}
		return ""
	case sqlite.AuthAttach, sqlite.AuthDetach:
		return oneFile
	case sqlite.AuthPragma:
		return pragmaRefusal(s, strings.ToLower(arg1), arg2)
	case sqlite.AuthTransaction:
		return transactions
	case sqlite.AuthSavepoint:
		if s == within {
			return ""
		}
		return transactions
	}
	if s == reading {
		return writes
	}
	return ""
}

const (
	oneFile      = "a connection is one file: ATTACH and VACUUM are not done"
	transactions = "transactions are not left open between calls"
	writes       = "it would write"
)

// pragmaRefusal is refusalOf for PRAGMA name(value).
func pragmaRefusal(s state, name, value string) string {
	switch name {
	case "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
		"foreign_key_list", "foreign_key_check", "integrity_check", "quick_check":
		return ""
	case "database_list", "collation_list", "function_list", "module_list", "pragma_list", "compile_options",
		"schema_version", "data_version", "page_count", "freelist_count", "query_only", "busy_timeout", "locking_mode":
		if value == "" {
			return ""
		}
	case "user_version", "application_id", "foreign_keys", "defer_foreign_keys", "journal_mode", "synchronous",
		"auto_vacuum", "page_size", "encoding", "cache_size", "secure_delete", "recursive_triggers",
		"wal_autocheckpoint", "analysis_limit":
		if value == "" || s != reading {
			return ""
		}
		return writes
	case "incremental_vacuum", "wal_checkpoint", "optimize", "case_sensitive_like", "shrink_memory":
		if s != reading {
			return ""
		}
		return writes
	}
	return "PRAGMA " + name + " is not among those that may be used"
}
