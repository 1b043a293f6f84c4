package users

import (
	"math"

	"callgate/internal/app/node"
	"callgate/internal/quota"
	"callgate/internal/user"
)

// The levels of the limits.
const (
	LevelLimits     = "users.limits"
	LevelLimitsOf   = "users.limits.default"
	LevelLimitsUser = "users.limits.users.<user>"
	LevelLimitsTeam = "users.limits.teams.<team>"
)

// limits reads how much users and teams may use.
func limits(to *quota.Rules, r *node.Reader) node.Read {
	return func(e node.Entry) {
		unpriced := ""
		r.Mapping(LevelLimits, e, map[string]node.Read{
			"default":  func(in node.Entry) { to.Default = limitsOf(r, LevelLimitsOf, in) },
			"users":    limitsByName(&to.Users, r, LevelLimitsUser, "user"),
			"teams":    limitsByName(&to.Teams, r, LevelLimitsTeam, "team"),
			"unpriced": r.Choice(&unpriced, "refuse", "count_tokens"),
		})
		to.CountTokens = unpriced == "count_tokens"
	}
}

func limitsByName(to *map[string]quota.Limits, r *node.Reader, level, what string) node.Read {
	return func(e node.Entry) {
		all := map[string]quota.Limits{}
		for _, one := range r.Entries(e, "write one "+what+" on each line, such as NAME: {calls_per_day: 2000}") {
			if err := user.Check(one.Key); err != nil {
				r.Fail(one.KeyAt, "write the name as tokens and logins have it", "%s cannot name a %s", node.Quote(one.Key), what)
				continue
			}
			all[one.Key] = limitsOf(r, level, one)
		}
		*to = all
	}
}

// limitsOf reads the limits of one.
func limitsOf(r *node.Reader, level string, e node.Entry) quota.Limits {
	all := quota.Limits{}
	keys := map[string]node.Read{}
	for _, k := range quota.Kinds() {
		keys[string(k)] = func(in node.Entry) {
			if k.IsMoney() {
				var usd *float64
				if r.Decimal(&usd, 0.0001, 1_000_000)(in); usd != nil {
					all[k] = int64(math.Round(*usd * 1e6))
				}
				return
			}
			n := 0
			if r.Number(&n, 1, 2_000_000_000, "write a whole number, such as 2000")(in); n > 0 {
				all[k] = int64(n)
			}
		}
	}
	r.Mapping(level, e, keys)
	return all
}
