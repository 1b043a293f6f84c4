package admission

import (
	"cmp"
	"context"
	"slices"

	"callgate/internal/conversation/history"
	"callgate/internal/conversation/keyedmutex"
	"callgate/internal/kernel/apps"
	"callgate/internal/user"
	"callgate/tool"
)

// Admitter decides for the conversations of a kernel.
type Admitter struct {
	Apps  *apps.Loader
	Store history.Store
	User  string
	// Open returns the conversations that clients have open.
	Open func() []history.Info

	held keyedmutex.Mutex
}

// Request is a conversation that somebody would open.
type Request struct {
	Resume    string // an earlier one
	Continue  bool   // without Resume: the last one
	Workspace string
	Named     bool // the user named the workspace
	AppFile   string
	Agent     string
	Headless  bool   // it has no client
	User      string // whose it is; empty: the kernel's own user's
}

// Place decides in which folder a new conversation is, or that an earlier one goes on in
// its place: it completes the request, and returns the app. Whoever would begin the same
// one waits until the function is called.
func (a *Admitter) Place(ctx context.Context, r *Request) (loaded *apps.Loaded, release func(), err error) {
	r.Workspace, r.AppFile, err = a.Apps.Workdir(ctx, r.Workspace, r.AppFile, r.Named)
	if err != nil {
		return nil, nil, err
	}
	if loaded, err = a.Apps.Load(ctx, r.Workspace, r.AppFile); err != nil {
		return nil, nil, err
	}
	mono := !r.Headless && loaded.App.OneConversation()
	if !mono && !r.Continue {
		return loaded, func() {}, nil
	}
	want := Wanted{
		Workspace: loaded.Workspace, AppFile: loaded.AppFile(), User: cmp.Or(r.User, a.User), Agent: r.Agent, Silent: mono,
	}
	if mono {
		chosen, err := Agent(loaded.App, r.Agent)
		if err != nil {
			return nil, nil, err
		}
		want.Agent = chosen.ID
	}
	release = a.held.Lock("one\n" + want.AppFile + "\n" + want.Workspace + "\n" + want.User)
	list, err := a.Store.List(ctx, 0)
	if r.Resume = Last(list, want); r.Resume == "" && !mono && err == nil {
		err = tool.Errorf("conversation.Open", tool.NotFound, "there is no conversation in %s to go on with",
			want.Workspace).WithHint("begin one; callgate sessions list shows those of other folders")
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return loaded, release, nil
}

// Admit keeps the conversations of an app within their number, without one that is opened
// again and one that its client leaves. The function is called when the conversation is
// open, or is not.
func (a *Admitter) Admit(loaded *apps.Loaded, of, lane, again, leaves string) (release func(), err error) {
	if loaded.App == nil || loaded.App.Runtime.Sessions.Max == 0 {
		return func() {}, nil
	}
	one := history.Info{App: loaded.AppID(), AppFile: loaded.AppFile(), Lane: lane, User: cmp.Or(of, a.User)}
	release = a.held.Lock("bound\n" + one.AppFile)
	open := slices.DeleteFunc(a.Open(), func(o history.Info) bool { return o.ID == again || o.ID == leaves })
	if err := bound(loaded.App.Runtime.Sessions.Max, open, one); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// CheckUser refuses a user to go on with a conversation of somebody else. One that goes on without a client does so for
// whom it was begun.
func CheckUser(own *string, info history.Info, alone bool) error {
	if alone {
		*own = user.Of(info.User)
	}
	if *own == "" || *own == info.User {
		return nil
	}
	return tool.Errorf("conversation.Open", tool.NotFound, "there is no conversation %q", tool.Truncate(info.ID))
}
