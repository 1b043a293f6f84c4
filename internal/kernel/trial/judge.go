package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/gate/rulefiles"
	"callgate/internal/journal"
	"callgate/tool"
)

// Why a call cannot be judged.
const (
	unknownTool  = "the tool is not here now"
	unknownArgs  = "the arguments are not on record, or without a secret that was in them"
	unknownPaths = "what its paths meant then cannot be told"
)

// judge says what the rules that are tried make of a call, and why; or why it
// cannot be told.
func (t *Trial) judge(ctx context.Context, r journal.Record) (now Outcome, why, unknown string) {
	id, _ := tool.TryParseID(r.Tool)
	known, ok := t.Tools.Latest(id.Dotted())
	switch {
	case !ok:
		return "", "", unknownTool
	case t.Off[id.Namespace]:
		return Refused, "the file leaves the module " + id.Namespace + " out", ""
	}
	var call *match.Call
	if t.Rules.HasMatch(known.ID) {
		if call, unknown = t.callOf(ctx, known, r); unknown != "" {
			return "", "", unknown
		}
	}
	d := policy.DecideCall(t.Rules, known, *r.Principal, call)
	switch {
	case d.Verdict != policy.Allow && d.Verdict != policy.Approve:
		return Refused, d.Reason, ""
	case strings.HasPrefix(r.Ask.Reason, rulefiles.Reason(nil)): // it asks, whatever is granted
		return Asks, strings.TrimSuffix(rulefiles.Reason(nil), ": "), ""
	case d.Verdict == policy.Allow:
		return Runs, d.Reason, ""
	}
	if rule, ok := t.granted(ctx, known, r); ok {
		return Runs, rule, ""
	}
	return Asks, d.Reason, ""
}

// granted reports whether a lasting grant covers a call.
func (t *Trial) granted(ctx context.Context, known *tool.Tool, r journal.Record) (string, bool) {
	if known.Runtime.AskFirst || t.Grants.Empty() {
		return "", false
	}
	call, unknown := t.callOf(ctx, known, r)
	if unknown != "" || lasting.CheckNumbers(r.Ask.Args) != nil {
		return "", false
	}
	asked := &lasting.Call{Call: call, App: r.Principal.App}
	if own, ok := t.Global.Get(known.ID); !ok || own != known {
		asked.AppFile = t.AppFile
	}
	found := t.Grants.Find(ctx, asked)
	if len(found) == 0 {
		return "", false
	}
	rule, _ := lasting.Reason(found)
	return rule, true
}

// callOf is a recorded call as rules about arguments see it. Its paths are those
// that it claimed then: what a link meant is not looked up again.
func (t *Trial) callOf(ctx context.Context, known *tool.Tool, r journal.Record) (*match.Call, string) {
	args := r.Ask.Args
	if r.Ask.ArgsRef != "" {
		args, _ = t.Artifacts.Get(ctx, r.Ask.ArgsRef)
	}
	call := &match.Call{Module: known.ID.Namespace, Action: known.ID.Name, Workspace: t.Folder}
	if bytes.Contains(args, []byte("[secret ")) || json.Unmarshal(args, &call.Args) != nil {
		return nil, unknownArgs
	}
	raw, err := binding.Arguments(args)
	if err != nil {
		return nil, unknownArgs
	}
	for _, e := range known.Runtime.Effects {
		param, name, ok := binding.PathParam(e)
		if applied, err := binding.Applies(e, raw); err != nil || !ok || !applied || call.Paths[name] != nil {
			continue
		}
		names, err := binding.PathNames(e, raw[param])
		if err != nil {
			return nil, unknownPaths
		}
		kind, _, _ := strings.Cut(e.Resource, ":")
		for _, text := range names {
			path := text
			if !filepath.IsAbs(path) {
				path = filepath.Join(t.Folder, path)
			}
			resource := kind + ":" + filepath.ToSlash(filepath.Clean(path))
			if !slices.ContainsFunc(r.Ask.Claims, func(c tool.Claim) bool { return c.Resource == resource }) {
				return nil, unknownPaths
			}
			call.AddPath(name, filepath.Clean(path), false)
		}
	}
	return call, ""
}
