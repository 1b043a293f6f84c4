// Package users reads what holds for the users of a kernel: the block users of its own user's app file.
//
//	users:
//	  admin_reads: contents
//	  limits:
//	    default: {usd_per_day: 5, calls_per_minute: 60}
//	    users:
//	      ada: {usd_per_day: 20}
//	    teams:
//	      research: {usd_per_month: 500}
//
// Law: only the user's own file says it. A project's file that did could open what others wrote.
package users

import (
	"callgate/internal/app/node"
	"callgate/internal/app/ownfile"
	"callgate/internal/quota"
)

// Level is that of the block.
const Level = "users"

// What an administrator reads of what others asked.
const (
	Metadata = "metadata" // who, when, which tool, how it stands, what it cost
	Contents = "contents" // all of it; each reading is on record
)

// Rules are what holds for users. The zero value is the strictest.
type Rules struct {
	AdminReads string // empty: Metadata
	Limits     quota.Rules
}

// Block reads the block of an app file, to check it. Load is for who uses it.
func Block(r *node.Reader, isUser bool) node.Read {
	return func(e node.Entry) {
		into(&Rules{}, r)(e)
		if !isUser {
			r.Fail(e.At, "write it in your own app file; callgate app where says where that is",
				"%s is not read in a project's file: a project does not say what is seen of users", e.Name())
		}
	}
}

func into(to *Rules, r *node.Reader) node.Read {
	return func(e node.Entry) {
		r.Mapping(Level, e, map[string]node.Read{
			"admin_reads": r.Choice(&to.AdminReads, Metadata, Contents), "limits": limits(&to.Limits, r),
		})
	}
}

// Load reads the block of the user's own app file. A file that is not there has the zero rules; so has one with a
// mistake, which is an error.
func Load(path string) (Rules, error) {
	var rules Rules
	if err := ownfile.Read(path, Level, func(r *node.Reader) node.Read { return into(&rules, r) }); err != nil {
		return Rules{}, err
	}
	return rules, nil
}
