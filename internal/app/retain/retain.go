// Package retain reads what is kept for how long: the block retain of the user's own app file.
//
//	retain:
//	  journal: {days: 90, records: 1000000}
//	  conversations: {days: 180, count: 500}
//	  tasks: {days: 30}
//	  artifacts: {days: 30, megabytes: 2048}
//	  logs: {days: 14}
//
// Without the block the rules are those of Default. A block says all of it: what it leaves out is kept, and with
// retain: {} everything is.
//
// Law: only the user's own file says it. A project's file that did could have the record of what its agents did
// removed.
package retain

import (
	"time"

	"callgate/internal/app/node"
	"callgate/internal/app/ownfile"
)

// The levels of the block.
const (
	Level              = "retain"
	LevelJournal       = "retain.journal"
	LevelConversations = "retain.conversations"
	LevelTasks         = "retain.tasks"
	LevelArtifacts     = "retain.artifacts"
	LevelLogs          = "retain.logs"
)

// Default returns the rules of a file without the block: records of a year, and 2 GiB of what no record names, for 90
// days.
func Default() Rules {
	const day = 24 * time.Hour
	return Rules{
		Journal: Limit{Age: 365 * day}, Artifacts: Limit{Age: 90 * day, Most: 2 << 30}, Logs: Limit{Age: 90 * day},
	}
}

// Rules are what is kept for how long. The zero value keeps everything.
type Rules struct {
	Journal       Limit // Most counts records
	Conversations Limit // Most counts those that have ended
	Tasks         Limit // that have ended
	Artifacts     Limit // that nothing names any more; Most counts bytes of all artifacts
	Logs          Limit // old files of the kernel's log
}

// Limit is when something is removed: when it is older, or when there is more of it. Zero is no limit.
type Limit struct {
	Age  time.Duration
	Most int64
}

// Any reports whether something is ever removed.
func (r Rules) Any() bool { return r != Rules{} }

// Block reads the block of an app file, to check it. Load is for who uses it.
func Block(r *node.Reader, isUser bool) node.Read { return into(&Rules{}, r, isUser) }

func into(to *Rules, r *node.Reader, isUser bool) node.Read {
	return func(e node.Entry) {
		*to = Rules{} // the block says all of it
		one := func(level string, l *Limit, most string, unit int64) node.Read {
			return func(in node.Entry) {
				days, count := 0, 0
				keys := map[string]node.Read{"days": r.Number(&days, 1, 36_500, "write after how many days, such as 90")}
				if most != "" {
					keys[most] = r.Number(&count, 1, 1_000_000_000, "write how many at most, such as 1000")
				}
				r.Mapping(level, in, keys)
				*l = Limit{time.Duration(days) * 24 * time.Hour, int64(count) * unit}
			}
		}
		r.Mapping(Level, e, map[string]node.Read{
			"journal":       one(LevelJournal, &to.Journal, "records", 1),
			"conversations": one(LevelConversations, &to.Conversations, "count", 1),
			"tasks":         one(LevelTasks, &to.Tasks, "", 1),
			"artifacts":     one(LevelArtifacts, &to.Artifacts, "megabytes", 1<<20),
			"logs":          one(LevelLogs, &to.Logs, "", 1),
		})
		if !isUser {
			r.Fail(e.At, "write it in your own app file; callgate app where says where that is",
				"%s is not read in a project's file: a project does not say how long your records are kept", e.Name())
		}
	}
}

// Load reads the block of the user's own app file. Of a file that is not there, or has no such block, the rules are
// those of Default; one with a mistake is an error, and nothing should be removed by it.
func Load(path string) (Rules, error) {
	rules := Default()
	if err := ownfile.Read(path, Level, func(r *node.Reader) node.Read { return into(&rules, r, true) }); err != nil {
		return Rules{}, err
	}
	return rules, nil
}
