package mysql

import (
	"context"
	"database/sql/driver"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/module/database/engine"
)

// powers are the privileges that reach beyond the data: to files and loaded functions of
// the server, and to its settings.
var powers = []string{"FILE", "SUPER"}

// globalGrant matches a grant of privileges that hold everywhere. Users and roles have them.
var globalGrant = regexp.MustCompile(`(?is)^GRANT (.*) ON \*\.\* TO (\S+)`)

// askPowers asks which of the powers the account has, by itself or by a role.
func (c *conn) askPowers(ctx context.Context) (engine.Powers, error) {
	var grants []string
	read := func(cells []driver.Value) bool {
		if len(cells) > 0 {
			switch v := cells[0].(type) {
			case string:
				grants = append(grants, v)
			case []byte:
				grants = append(grants, string(v))
			}
		}
		return true
	}
	if err := c.each(ctx, engine.Statement{SQL: "SHOW GRANTS"}, nil, read); err != nil {
		return engine.Powers{}, c.convertError(ctx, false, err)
	}
	return powersOf(grants), nil
}

// powersOf reads the answer of SHOW GRANTS.
func powersOf(grants []string) (p engine.Powers) {
	for _, line := range grants {
		m := globalGrant.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if p.Account == "" {
			p.Account = m[2]
		}
		var found []string
		for one := range strings.SplitSeq(m[1], ",") {
			switch one = strings.ToUpper(strings.TrimSpace(one)); {
			case one == "ALL PRIVILEGES", one == "ALL":
				found = append(found, powers...)
			case slices.Contains(powers, one):
				found = append(found, one)
			}
		}
		for _, one := range found {
			if !slices.Contains(p.Names, one) {
				p.Names = append(p.Names, one)
				p.Drop = strings.TrimPrefix(p.Drop+"; REVOKE "+one+" ON *.* FROM "+m[2], "; ")
			}
		}
	}
	return p
}
