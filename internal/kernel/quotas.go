package kernel

import (
	"cmp"
	"context"
	"os"

	"callgate/internal/app/inforce"
	appusers "callgate/internal/app/users"
	"callgate/internal/kernel/users"
	"callgate/internal/quota"
	"callgate/tool"
)

// openUsers opens the users of a kernel, and what they may use.
func openUsers(k *Kernel, cfg Config) *users.Directory {
	known := users.New(k.database.Stores().Documents)
	file := &appusers.File{Path: func() string { return cmp.Or(cfg.UserFile, inforce.UserFile(os.Getenv)) }}
	known.Limits = &quota.Limiter{Teams: known.Teams, Counters: k.database.Counters(), Rules: func() (quota.Rules, error) {
		rules, err := file.Rules()
		return rules.Limits, err
	}}
	return known
}

// act lets a call act while this kernel may, in the place of its user among those that run.
func act(k *Kernel) func(context.Context, *tool.Tool, tool.Principal) (context.Context, func(), error) {
	return func(ctx context.Context, t *tool.Tool, by tool.Principal) (context.Context, func(), error) {
		leave, err := k.Tokens.Users.Limits.Begin(ctx, t, by)
		if err != nil {
			return nil, nil, err
		}
		acting, done, err := k.database.Act(ctx)
		if err != nil {
			leave()
			return nil, nil, err
		}
		return acting, func() { done(); leave() }, nil
	}
}
