package sqlite

import (
	"strings"
	"sync/atomic"

	"modernc.org/sqlite"
)

// state is what a connection may be asked to do.
type state int32

const (
	own     state = iota // the engine's own statements
	reading              // a statement that may only read
	writing              // one that may write
	within               // one of a transaction
)

// authorizer answers SQLite's question, at the time it compiles a statement,
// whether each thing that the statement would do is permitted.
type authorizer struct {
	state   atomic.Int32
	refused atomic.Value // string: what was, in words
}

func (g *authorizer) set(s state) {
	g.state.Store(int32(s))
	g.refused.Store("")
}

// said returns what was refused since the state was set, or "".
func (g *authorizer) said() string {
	s, _ := g.refused.Load().(string)
	return s
}

func (g *authorizer) judge(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	s := state(g.state.Load())
	if s == own {
		return sqlite.AuthorizerOK
	}
	if why := refusal(s, action, arg1, arg2); why != "" {
		g.refused.Store(why)
		return sqlite.AuthorizerDeny
	}
	return sqlite.AuthorizerOK
}

// refusal says why something is not permitted, or "".
func refusal(s state, action sqlite.AuthorizerActionCode, arg1, arg2 string) string {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return ""
	case sqlite.AuthFunction:
		if strings.EqualFold(arg2, "load_extension") {
			return "extensions are never loaded"
		}
		return ""
	case sqlite.AuthAttach, sqlite.AuthDetach:
		return outside
	case sqlite.AuthPragma:
		return pragma(s, strings.ToLower(arg1), arg2)
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
	outside      = "a connection is one file: ATTACH and VACUUM are not done"
	transactions = "transactions are not left open between calls"
	writes       = "it would write"
)

// pragma judges PRAGMA name(value).
func pragma(s state, name, value string) string {
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
		"auto_vacuum", "page_size", "encoding", "cache_size", "secure_delete", "recursive_triggers", "wal_autocheckpoint", "analysis_limit":
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
