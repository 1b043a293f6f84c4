// Package user names the people for whom a kernel works beside its own user: those that a token or a login stands for.
//
// # Law
//
// A kernel has its own user, who owns the process and the state directory. Everybody else is a user by a name, which in
// a principal begins with a mark that no account of an operating system has. So nobody becomes the kernel's own user
// by a name, and what was recorded before there were users stays the kernel's own.
package user

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/visible"
	"callgate/tool"
)

// mark begins the name of a user in a principal.
const mark = "@"

// The bounds of what is known of a user.
const (
	MaxName  = 120
	MaxTeams = 32
)

// InPrincipal is a user's name as principals have it; empty for the kernel's own.
func InPrincipal(name string) string {
	if name == "" {
		return ""
	}
	return mark + name
}

// Of returns the user whose a principal's name is, as principals have it; empty: the kernel's own.
func Of(inPrincipal string) string {
	if strings.HasPrefix(inPrincipal, mark) {
		return inPrincipal
	}
	return ""
}

// Name is a user's name as people write it; empty for the kernel's own.
func Name(inPrincipal string) string { return strings.TrimPrefix(Of(inPrincipal), mark) }

// Check returns an error unless a text can be the name of a user.
func Check(name string) error {
	if isName(name) {
		return nil
	}
	return tool.Errorf("user.Check", tool.Invalid, "%q cannot name a user", tool.Truncate(name)).
		WithHint("a name has at most %d bytes, no spaces, and shows all of its characters; it does not begin with %s, has "+
			"no part . or .., and no character that is written as another one (Unicode NFKC)", MaxName, mark)
}

// CheckTeams returns an error unless texts can be the teams of a user.
func CheckTeams(teams []string) error {
	if len(teams) > MaxTeams {
		return tool.Errorf("user.Check", tool.Invalid, "a user has at most %d teams", MaxTeams)
	}
	for i, t := range teams {
		if !isName(t) || slices.Contains(teams[:i], t) {
			return tool.Errorf("user.Check", tool.Invalid, "%q cannot name a team, or is named twice", tool.Truncate(t)).
				WithHint("a name has at most %d bytes, no spaces, and shows all of its characters", MaxName)
		}
	}
	return nil
}

// IsText reports whether a text can be a person's full name.
func IsText(s string) bool {
	return s != "" && len(s) <= MaxName && utf8.ValidString(s) && visible.Text(s) == s
}

// isName reports whether a text can name a user or a team. Names that Unicode equates with another spelling (the Kelvin
// sign for K) and names with the path elements . and .. are refused: they can be taken for another name.
func isName(s string) bool {
	return IsText(s) && !strings.HasPrefix(s, mark) && !strings.ContainsAny(s, " \t\r\n,\"'\\") &&
		norm.NFKC.IsNormalString(s) &&
		!slices.ContainsFunc(strings.Split(s, "/"), func(part string) bool { return part == "." || part == ".." })
}
