package acp

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

// agent answers the requests of one editor.
type agent struct {
	opt       Options
	ctx       context.Context // ends with the editor
	end       context.CancelFunc
	connected chan struct{} // closed when editor is set
	editor    *sdk.AgentSideConnection

	mu       sync.Mutex
	client   string // the editor's name, for people
	sessions map[sdk.SessionId]*session
}

var (
	_ sdk.Agent       = (*agent)(nil)
	_ sdk.AgentLoader = (*agent)(nil)
)

func newAgent(ctx context.Context, o Options) *agent {
	a := &agent{opt: o, connected: make(chan struct{}), sessions: map[sdk.SessionId]*session{}}
	a.ctx, a.end = context.WithCancel(ctx)
	return a
}

// close leaves all conversations.
func (a *agent) close() {
	a.mu.Lock()
	sessions := a.sessions
	a.sessions = nil
	a.mu.Unlock()
	var closing sync.WaitGroup
	for _, s := range sessions {
		closing.Go(s.leave)
	}
	closing.Wait()
	a.end()
}

func (a *agent) session(id sdk.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, protocolError(tool.Errorf("acp", tool.NotFound, "the session %q is not open here",
		tool.Truncate(string(id))).WithHint("load it first; session/list has the sessions there are"))
}

// open opens a conversation in a folder: a new one, or the one with an ID.
func (a *agent) open(ctx context.Context, folder, resume string) (*session, error) {
	<-a.connected
	if !filepath.IsAbs(folder) {
		return nil, protocolError(tool.Errorf("acp", tool.Invalid, "the folder %q is not an absolute path",
			tool.Truncate(folder)))
	}
	if s := a.single(folder); s != nil && resume == "" {
		return s, nil
	}
	opened, err := a.opt.Client.OpenConversation(ctx, protocol.OpenConversation{
		OpenSession: protocol.OpenSession{Workspace: folder, AppFile: a.opt.AppFile, Agent: a.opt.Agent},
		Resume:      resume, WorkspaceNamed: true,
	})
	if err != nil {
		return nil, protocolError(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions == nil {
		go func() { _ = opened.Close(context.WithoutCancel(ctx)) }()
		return nil, protocolError(tool.Errorf("acp", tool.Cancelled, "the editor has gone"))
	}
	s := newSession(a, opened)
	s.folder = folder
	a.sessions[s.id] = s
	return s, nil
}

// single is the conversation of a folder that is open here and is the only one of its app.
func (a *agent) single(folder string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.conversation.Single && s.folder == folder {
			return s
		}
	}
	return nil
}

// NewSession opens a conversation.
func (a *agent) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	s, err := a.open(ctx, r.Cwd, "")
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s.begin(len(r.McpServers))
	return sdk.NewSessionResponse{SessionId: s.id, Modes: s.modes(), ConfigOptions: s.options(ctx)}, nil
}

// LoadSession opens an earlier conversation, and shows what was said in it.
func (a *agent) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, err := a.resume(ctx, r.SessionId, r.Cwd)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	if err := s.replay(ctx); err != nil {
		return sdk.LoadSessionResponse{}, protocolError(err)
	}
	s.begin(len(r.McpServers))
	return sdk.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.options(ctx)}, nil
}

// ResumeSession opens an earlier conversation.
func (a *agent) ResumeSession(ctx context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, err := a.resume(ctx, r.SessionId, r.Cwd)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	s.begin(len(r.McpServers))
	return sdk.ResumeSessionResponse{Modes: s.modes(), ConfigOptions: s.options(ctx)}, nil
}

// resume opens an earlier conversation, also one that is open here.
func (a *agent) resume(ctx context.Context, id sdk.SessionId, folder string) (*session, error) {
	if s, err := a.session(id); err == nil {
		return s, nil
	}
	return a.open(ctx, folder, string(id))
}

// maxListed bounds how many conversations are listed.
const maxListed = 200

// ListSessions lists the conversations of a folder, or all.
func (a *agent) ListSessions(ctx context.Context, r sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	list, err := a.opt.Client.Conversations(ctx, maxListed)
	if err != nil {
		return sdk.ListSessionsResponse{}, protocolError(err)
	}
	found := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	for _, c := range list {
		if r.Cwd != nil && filepath.Clean(*r.Cwd) != c.Workspace {
			continue
		}
		info := sdk.SessionInfo{
			SessionId: sdk.SessionId(c.ID), Cwd: c.Workspace, UpdatedAt: sdk.Ptr(c.Updated.UTC().Format(time.RFC3339)),
		}
		if c.Title != "" {
			info.Title = sdk.Ptr(visible.Clip(c.Title, maxTitle))
		}
		found.Sessions = append(found.Sessions, info)
	}
	return found, nil
}

// CloseSession leaves a conversation. A turn that runs is stopped.
func (a *agent) CloseSession(ctx context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := a.session(r.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	a.mu.Lock()
	delete(a.sessions, r.SessionId)
	a.mu.Unlock()
	s.stop()
	s.leave()
	return sdk.CloseSessionResponse{}, nil
}

// Cancel stops the turn that runs.
func (a *agent) Cancel(_ context.Context, r sdk.CancelNotification) error {
	s, err := a.session(r.SessionId)
	if err == nil {
		s.stop()
	}
	return err
}
