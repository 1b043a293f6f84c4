// Package quota says how much each user of a kernel may use, and counts it.
//
// # Law
//
// A user has limits of their own, and their teams have limits for all of their members together. What is used is
// counted, durably, before its effect: in every account that limits it, or in none. So what happens at once, at one
// kernel or at several that share a database, never goes over a limit together. What a model took is put in the place
// of its estimate when it is known, in the periods in which it was charged.
//
// A minute, a day and a month are those of UTC, by one clock: the kernel's, or that of the database that kernels share.
// A period begins each account anew, and none that is before the last one that was counted.
//
// Calls and sessions at once are held by the kernel that has them. What a kernel held counts no more when it has ended,
// or is cut off from the database for so long that it had to stop.
//
// Who cannot be counted is refused: nothing is free because a file or a database cannot be read. The kernel's own user
// has no limits here, and neither have tools of the kernel itself, as the calls that they make count.
package quota

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"callgate/tool"
)

// Kind is what a limit is about, as an app file writes it.
type Kind string

// The kinds of limits. Dollars are counted in millionths.
const (
	USDPerDay      Kind = "usd_per_day"
	USDPerMonth    Kind = "usd_per_month"
	TokensPerDay   Kind = "tokens_per_day"
	TokensPerMonth Kind = "tokens_per_month"
	CallsPerMinute Kind = "calls_per_minute"
	CallsPerDay    Kind = "calls_per_day"
	CallsAtOnce    Kind = "calls_at_once"
	SessionsAtOnce Kind = "sessions_at_once"
)

// Kinds lists the kinds.
func Kinds() []Kind {
	return []Kind{USDPerDay, USDPerMonth, TokensPerDay, TokensPerMonth, CallsPerMinute, CallsPerDay, CallsAtOnce,
		SessionsAtOnce}
}

// Span is the period over which something is counted: "minute", "day" or "month"; "" is at once.
func (k Kind) Span() string {
	switch k {
	case CallsPerMinute:
		return "minute"
	case USDPerDay, TokensPerDay, CallsPerDay:
		return "day"
	case USDPerMonth, TokensPerMonth:
		return "month"
	}
	return ""
}

// IsMoney reports whether it is counted in millionths of a dollar.
func (k Kind) IsMoney() bool { return k == USDPerDay || k == USDPerMonth }

// Write writes an amount for people.
func (k Kind) Write(amount int64) string {
	switch {
	case k.IsMoney() && amount%10_000 == 0:
		return fmt.Sprintf("$%.2f", float64(amount)/1e6)
	case k.IsMoney():
		return fmt.Sprintf("$%.6f", float64(amount)/1e6)
	}
	return fmt.Sprint(amount)
}

// BeginOf is when the period of a kind begins in which a time is.
func (k Kind) BeginOf(t time.Time) time.Time {
	t = t.UTC()
	switch k.Span() {
	case "minute":
		return t.Truncate(time.Minute)
	case "month":
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// EndOf is when the period ends that begins at a time.
func (k Kind) EndOf(begin time.Time) time.Time {
	begin = begin.UTC()
	switch k.Span() {
	case "minute":
		return begin.Add(time.Minute)
	case "month":
		return begin.AddDate(0, 1, 0)
	}
	return begin.AddDate(0, 0, 1)
}

// Limits are the most of each kind. One that is not there is not limited.
type Limits map[Kind]int64

// Rules are the limits of everybody.
type Rules struct {
	Default     Limits // of each user
	Users       map[string]Limits
	Teams       map[string]Limits // of all members together
	CountTokens bool              // a model whose price nobody knows is asked, and its tokens count
}

// Account is who has limits: a user, or a team.
type Account struct {
	Name   string // by which it is counted
	Label  string // for people
	Limits Limits
}

// OfUser and OfTeam are the names of accounts.
func OfUser(name string) string { return "user/" + name }
func OfTeam(name string) string { return "team/" + name }

// Accounts are those of a user: their own first, and those of their teams that have limits. A limit that is written for
// the user stands in the place of the default one.
func (r Rules) Accounts(user string, teams []string) []Account {
	own := Account{OfUser(user), "the user " + user, Limits{}}
	for _, limits := range []Limits{r.Default, r.Users[user]} {
		for kind, most := range limits {
			own.Limits[kind] = most
		}
	}
	all := []Account{own}
	for _, team := range teams {
		if limits := r.Teams[team]; len(limits) > 0 {
			all = append(all, Account{OfTeam(team), "the team " + team, limits})
		}
	}
	return all
}

// Charge is an amount that is to be counted in an account.
type Charge struct {
	Account string
	Label   string // for people
	Kind    Kind
	Amount  int64
	Most    int64 // 0: it is counted and not limited
}

// Sort puts charges in the order in which everybody makes them.
func Sort(charges []Charge) {
	slices.SortFunc(charges, func(a, b Charge) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Kind, b.Kind))
	})
}

// Used is what was counted in an account.
type Used struct {
	Account string
	Kind    Kind
	Amount  int64     // in the period that it is now
	Until   time.Time // when it begins anew; zero: it is what runs at once
}

// Counters keep what is used. They are safe for concurrent use.
type Counters interface {
	// Add counts all charges, or none. One that does not fit is a [Full] error. It returns when they were counted.
	Add(ctx context.Context, charges []Charge) (time.Time, error)
	// Correct adds amounts, which may be negative, to the periods in which something was counted at a time.
	Correct(ctx context.Context, at time.Time, charges []Charge) error
	// Enter holds a place at once in each of the charges, or in none, until leave is called.
	Enter(ctx context.Context, charges []Charge) (leave func(), err error)
	// Read returns what is counted in accounts, or in all of them if none is named.
	Read(ctx context.Context, accounts []string) ([]Used, error)
}

// Full is why something is not counted.
type Full struct {
	Charge
	Used  int64
	Until time.Time // when it begins anew; zero: when something ends
	Now   time.Time
}

// Error says which limit is reached, what is used of it, and when it begins anew.
func (f *Full) Error() string {
	return fmt.Sprintf("%s is over the limit %s: %s of %s", f.Label, f.Kind, f.Kind.Write(f.Used), f.Kind.Write(f.Most)) +
		f.rest()
}

func (f *Full) rest() string {
	switch f.Kind {
	case CallsAtOnce:
		return " calls run"
	case SessionsAtOnce:
		return " sessions are open"
	case CallsPerMinute, CallsPerDay:
		return " calls are made"
	case TokensPerDay, TokensPerMonth:
		return fmt.Sprintf(" tokens are used, and the request may take %d", f.Amount)
	}
	return " are spent, and the request may take " + f.Kind.Write(f.Amount)
}

// AsTool is the error as callers of tools see it.
func (f *Full) AsTool(op string) error {
	e := tool.Errorf(op, tool.Limited, "%w", f)
	switch {
	case f.Until.IsZero() && f.Kind == SessionsAtOnce:
		return e.WithHint("close a session, or wait until one has ended, and then try again")
	case f.Until.IsZero():
		return e.WithHint("wait until one has ended, and then call again")
	}
	wait := f.Until.Sub(f.Now).Truncate(time.Second) + time.Second
	return e.WithHint("it begins anew at %s, in %s", f.Until.UTC().Format("2006-01-02 15:04 UTC"), wait)
}
