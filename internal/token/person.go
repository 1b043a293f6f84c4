package token

import (
	"callgate/internal/user"
	"callgate/tool"
)

// Person is whom a token stands for. The zero value is the kernel's own user.
type Person struct {
	User     string   `json:"user,omitempty"`
	FullName string   `json:"full_name,omitempty"` // for people
	Teams    []string `json:"teams,omitempty"`
}

// InPrincipal is the user as principals have it; empty: the kernel's own.
func (p Person) InPrincipal() string { return user.InPrincipal(p.User) }

func (p Person) check() error {
	const op = "token.Create"
	switch {
	case p.User == "" && (p.FullName != "" || len(p.Teams) > 0):
		return tool.Errorf(op, tool.Invalid, "a token without a user has no teams and no full name").
			WithHint("say whom it stands for: --user NAME")
	case p.User == "":
		return nil
	case p.FullName != "" && !user.IsText(p.FullName):
		return tool.Errorf(op, tool.Invalid, "%q cannot be the name of a person", tool.Truncate(p.FullName))
	}
	if err := user.Check(p.User); err != nil {
		return err
	}
	return user.CheckTeams(p.Teams)
}
