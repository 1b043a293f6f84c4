// Package undoing puts files back to what they were before calls changed them. What is
// kept for that is in internal/undo.
//
// # Law
//
//   - Only a human undoes: it needs the human's key, from outside the kernel, as pruning
//     does. No model has a tool for it. To write over what somebody else wrote since, and to
//     put back a file with rules of agents, need what a yes to a call needs.
//   - An undo is a call through the gate, of a tool that nobody else sees. It locks each
//     file, and is on record with what it undoes and who wanted it. Its own files are kept
//     like those of any call: undoing it is the redo.
//   - Several calls are undone at once: each file becomes what it was before the first of
//     them.
//   - A file is put back only if it is as the last of these calls left it, and nobody else
//     wrote it between them. It is said who did, and when; then nothing at all is put back,
//     unless the human wants such files left out, or written over. A file that is already
//     as it was is left alone, so that an undo that was cut off can be repeated.
//   - What was looked at under the locks is what counts: a preview that shows less than
//     would be done now is refused.
//   - A file is replaced whole or not at all. An undo that is cut off leaves each file put
//     back or not.
//   - The model of a conversation is told of it before it is asked again.
package undoing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"callgate/internal/amount"
	"callgate/internal/conversation/history"
	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/kernel/session"
	"callgate/internal/registry"
	"callgate/internal/undo"
	"callgate/tool"
)

// Session is the session of all undos: they are a human's, and no client's.
const Session = "undo"

// scope is where the tool is found: no other caller has it.
const scope = "kernel:undo"

// Gate makes calls.
type Gate interface {
	Call(ctx context.Context, c *gate.Caller, r gate.CallRequest) *tool.Result
}

// Conversations are those of the kernel.
type Conversations interface {
	// List returns conversations, the one last touched first; all when limit is 0.
	List(ctx context.Context, limit int) ([]history.Info, error)
	// History returns a conversation and what happened in it after an event.
	History(ctx context.Context, id string, after int64) (history.Info, []history.Event, error)
	// Between does something while no turn of a conversation runs. A turn that runs is a
	// Conflict.
	Between(ctx context.Context, id string, do func(context.Context, *history.Log) error) error
}

// Authority says what a human may do: *approval.Queue is one.
type Authority interface {
	HasHumanAuthority(who approval.Credential) error
	HasPersonAuthority(who approval.Credential, askers []approval.Requester) error
	MayLoosen(who approval.Credential, asker approval.Requester) error
	AnswerVouched(ctx context.Context, v approval.Voucher, id string, a approval.Answer) error
}

// Options is what an Undoer needs of the kernel. All fields are required.
type Options struct {
	Store         *undo.Store
	Gate          Gate
	Tools         *registry.Registry
	Conversations Conversations
	Authority     Authority
	// Caller makes a caller without an app in a folder, and the function that ends it.
	Caller func(session.BareSpec) (*gate.Caller, func(), error)
	// Folder is the workspace of a client that works in a folder.
	Folder func(ctx context.Context, folder string) (string, error)
	// Jobs are the conversations that work for a conversation.
	Jobs func(ctx context.Context, conversation string) ([]string, error)
	// Parent is the conversation that a conversation works for; "": none.
	Parent func(ctx context.Context, conversation string) string
	// Askers are who asks, as the one who wants something sees it.
	Askers func(approval.Credential) []approval.Requester
	// Requester is who has a conversation open, and whether anybody does.
	Requester func(conversation string) (approval.Requester, bool)
	// RuleFiles are the files and folders in a workspace that hold rules of agents.
	RuleFiles func(ctx context.Context, workspace string) []string
	// Rewind takes back what else a conversation has done after an event.
	Rewind func(ctx context.Context, conversation string, event int64) error
	User   string
}

// Undoer undoes calls. Make one with New.
type Undoer struct{ opt Options }

// New makes an Undoer, and registers its tool.
func New(o Options) (*Undoer, error) {
	u := &Undoer{o}
	t := u.tool()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return u, o.Tools.Add(scope, registry.Static{Source: "undo", List: []*tool.Tool{t}})
}

// LastTurn as the turn of a target is the last that the model sees, whatever it changed.
const LastTurn = -1

// Target says what is to be undone. Without a call and a conversation, it is the last
// that changed files in the workspace.
type Target struct {
	Workspace    string
	Call         string // with the calls that it made
	Conversation string
	Turn         int  // with all that came after it; 0: the last that changed files; or LastTurn
	Redo         bool // the last undo, in the workspace or of the conversation
}

// Request is what a human wants.
type Request struct {
	Target
	Skip   bool   // files that somebody else wrote since are left as they are
	Force  bool   // they are written over
	Rewind bool   // the model no longer sees what was said from the first of the turns on
	Shown  string // the preview that the human was shown; "": they want whatever it is
}

// Done is what an undo did.
type Done struct {
	Preview
	Call    string   // of the undo
	Put     []string // paths that are as they were
	Left    []string // paths that were left out
	Failed  []Failure
	Rewound bool
}

// Failure is a file that could not be put back.
type Failure struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

const op = "undo"

// Preview tells what an undo would do.
func (u *Undoer) Preview(ctx context.Context, who approval.Credential, t Target) (Preview, error) {
	if err := u.opt.Authority.HasHumanAuthority(who); err != nil {
		return Preview{}, err
	}
	chosen, err := u.choose(ctx, t)
	if err != nil {
		return Preview{}, err
	}
	p, release, err := u.preview(ctx, chosen)
	if err != nil {
		return p, err
	}
	defer release()
	return p, nil
}

// preview makes the preview of what was chosen, and a caller in its workspace.
func (u *Undoer) preview(ctx context.Context, c choice) (Preview, func(), error) {
	caller, release, err := u.opt.Caller(session.BareSpec{Folder: c.workspace, Identity: u.identity(), Scope: scope})
	if err != nil {
		return Preview{}, nil, err
	}
	grant := grantOf(caller)
	made, err := makePlan(ctx, grant, u.opt.Store, c.all, c.calls)
	if err != nil {
		release()
		return Preview{}, nil, err
	}
	return u.describe(ctx, c, made, grant), release, nil
}

func (u *Undoer) identity() gate.Identity {
	return gate.Identity{Principal: tool.Principal{User: u.opt.User, Session: Session}}
}

// grantOf is what a caller may reach of its folder.
func grantOf(c *gate.Caller) tool.Grant {
	at := c.Place()
	return tool.Grant{
		Workspace: at.Workspace, Root: at.Root, HiddenFiles: at.HiddenFiles, HiddenPaths: at.HiddenPaths,
	}
}

// Undo undoes, and tells the model.
func (u *Undoer) Undo(ctx context.Context, who approval.Credential, r Request) (Done, error) {
	if err := u.opt.Authority.HasHumanAuthority(who); err != nil {
		return Done{}, err
	}
	chosen, err := u.choose(ctx, r.Target)
	if err != nil {
		return Done{}, err
	}
	if chosen.conversation == "" {
		if r.Rewind {
			return Done{}, tool.Errorf(op, tool.Invalid, "there is no conversation to go back in").
				WithHint("name one: --conversation ID")
		}
		return u.carryOut(ctx, who, r, chosen)
	}
	var done Done
	err = u.opt.Conversations.Between(ctx, chosen.conversation, func(ctx context.Context, log *history.Log) error {
		if done, err = u.carryOut(ctx, who, r, chosen); err != nil {
			return err
		}
		return u.tell(ctx, log, r, chosen, &done)
	})
	return done, err
}

// carryOut makes the call that puts files back.
func (u *Undoer) carryOut(ctx context.Context, who approval.Credential, r Request, c choice) (Done, error) {
	p, release, err := u.preview(ctx, c)
	if err != nil {
		return Done{}, err
	}
	defer release()
	done := Done{Preview: p}
	if err := u.check(ctx, who, r, p); err != nil {
		return done, err
	}
	args := restoreArgs{Calls: c.ids(), By: cmp.Or(who.By, u.opt.User), Skip: r.Skip, Force: r.Force}
	for _, f := range p.Files {
		switch {
		case f.Action == None && f.Conflict == nil:
		case f.NotKept != "" || f.Conflict != nil && !r.Force:
			done.Left = append(done.Left, f.Path)
		default:
			args.Files = append(args.Files, f.Path)
			if f.From != "" && !slices.Contains(args.Files, f.From) {
				args.Files = append(args.Files, f.From)
			}
		}
	}
	if len(args.Files) == 0 {
		return done, nil // what can be put back is as it was
	}
	result, err := u.call(ctx, c.workspace, args, r.Force || len(p.Rules) > 0)
	if err != nil {
		return done, err
	}
	done.Call = result.Call
	var said restored
	if len(result.Data) > 0 && json.Unmarshal(result.Data, &said) == nil {
		done.Put, done.Failed = said.Put, said.Failed
	}
	if len(done.Failed) > 0 {
		return done, nil
	}
	return done, result.Err()
}

// call makes the call through the gate. Where the gate asks a human about a file with
// rules, the answer is the one that the person has given.
func (u *Undoer) call(ctx context.Context, workspace string, args restoreArgs, person bool) (*tool.Result, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := func(r approval.Request) {
		if r.State != approval.Pending {
			return
		}
		go func() {
			v := approval.Voucher{By: args.By, Session: Session}
			if !person || u.opt.Authority.AnswerVouched(ctx, v, r.ID, approval.Answer{Approve: true}) != nil {
				cancel()
			}
		}()
	}
	caller, release, err := u.opt.Caller(session.BareSpec{
		Folder: workspace, Identity: u.identity(), Scope: scope, RuleFiles: u.opt.RuleFiles(ctx, workspace), OnAsked: asked,
	})
	if err != nil {
		return nil, err
	}
	defer release()
	return u.opt.Gate.Call(ctx, caller, gate.CallRequest{Name: restoreTool, Args: raw, Whole: true}), nil
}

// check refuses what the human was not shown, or may not want.
func (u *Undoer) check(ctx context.Context, who approval.Credential, r Request, p Preview) error {
	if r.Shown != "" && r.Shown != p.ID {
		return tool.Errorf(op, tool.Conflict, "it would do something else now than was shown").
			WithHint("look at it again")
	}
	if r.Force || len(p.Rules) > 0 {
		if err := u.isPerson(who, p.Conversation); err != nil {
			what := "to write over what somebody else wrote"
			if len(p.Rules) > 0 {
				what = "to put back " + p.Rules[0] + ", which holds rules of agents,"
			}
			return &tool.Error{Op: op, Kind: tool.KindOf(err), Err: err, Message: what + " is for a person to say",
				Hint: "run callgate undo in a terminal of your own"}
		}
	}
	if conflicts := p.Conflicts(); len(conflicts) > 0 && !r.Skip && !r.Force {
		first := conflicts[0]
		e := tool.Errorf(op, tool.Conflict, "%s was changed since: %s", first.Path, first.Conflict)
		if n := len(conflicts) - 1; n > 0 {
			e.Message += fmt.Sprintf(" (and %s more)", amount.Of(n, "file"))
		}
		return e.WithHint("--skip leaves such files as they are; " +
			"--force, at a terminal, puts them back all the same and loses what was written since")
	}
	return nil
}

// isPerson returns an error unless a person, as far as that can be told, wants something
// in a conversation that they have open, or from outside of everything that is open.
func (u *Undoer) isPerson(who approval.Credential, conversation string) error {
	if asker, open := u.opt.Requester(conversation); open && u.opt.Authority.MayLoosen(who, asker) == nil {
		return nil
	}
	return u.opt.Authority.HasPersonAuthority(who, u.opt.Askers(who))
}

// rulesIn returns the files of a preview that hold rules of agents.
func (u *Undoer) rulesIn(ctx context.Context, p Preview) (found []string) {
	set := rulefiles.Set{Workspace: p.Workspace, Files: u.opt.RuleFiles(ctx, p.Workspace)}
	for _, f := range p.Files {
		full := filepath.Join(p.Workspace, filepath.FromSlash(f.Path))
		if f.NotKept == "" && len(set.Changed([]tool.Claim{{Resource: binding.FileResource(full), Mode: tool.X}})) > 0 {
			found = append(found, f.Path)
		}
	}
	return found
}

// fingerprint tells one preview from another that would do something else.
func fingerprint(p Preview) string {
	sum := sha256.New()
	for _, c := range p.Calls {
		fmt.Fprintln(sum, c.Call)
	}
	for _, f := range p.Files {
		fmt.Fprintf(sum, "%q %s %q %v %q %s %s %v\n", f.Path, f.Action, f.From, f.Conflict != nil, f.NotKept,
			f.now.Kind, f.now.Ref, f.mode)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
