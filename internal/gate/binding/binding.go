// Package binding turns what a tool says it touches into claims on canonical
// resources. Law: one thing has one name, whatever spelling the arguments use; a
// path is resolved before it becomes a name, and one that leads out of the
// workspace is refused here already, unless the tool works in a folder of its own
// ([tool.Effect.Folder]).
//
// Every call has a claim, so that it is on record what it may have touched: one
// whose effects name nothing claims its module (see [Module]). Only a pure tool,
// which touches nothing, and a control tool, which is the kernel's, have none.
package binding

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"callgate/tool"
)

const op = "binding.Claims"

// OfCall returns the claims of a call: what the tool's effects name with these
// arguments, or else its module.
func OfCall(workspace string, t *tool.Tool, rawArgs json.RawMessage) ([]tool.Claim, error) {
	claims, err := Claims(workspace, t.Runtime.Effects, rawArgs)
	if err != nil || len(claims) > 0 || t.Runtime.Control || t.Runtime.SideEffect == tool.None {
		return claims, err
	}
	return []tool.Claim{Module(t)}, nil
}

// Said returns what a tool's calls may claim, before their arguments are known.
func Said(t *tool.Tool) []tool.Effect {
	if len(t.Runtime.Effects) > 0 || t.Runtime.Control || t.Runtime.SideEffect == tool.None {
		return t.Runtime.Effects
	}
	m := Module(t)
	return []tool.Effect{{Resource: m.Resource, Mode: m.Mode}}
}

// Module is the claim of a call that names nothing else: its module, in an
// intention mode. Such claims go together, so that no call waits for another
// because of them; yet they tell that the one changed what the other may have read.
func Module(t *tool.Tool) tool.Claim {
	mode := tool.IS
	if t.Runtime.SideEffect.Durable() {
		mode = tool.IX
	}
	return tool.Claim{Resource: "module:" + t.ID.Namespace, Mode: mode}
}

// Claims returns what effects name with these arguments, in a workspace, which is
// an absolute folder without links.
func Claims(workspace string, effects []tool.Effect, rawArgs json.RawMessage) ([]tool.Claim, error) {
	if len(effects) == 0 {
		return nil, nil
	}
	var args map[string]json.RawMessage
	if slices.ContainsFunc(effects, readsArguments) {
		var err error
		if args, err = Arguments(rawArgs); err != nil {
			return nil, err
		}
	}
	claims := make([]tool.Claim, 0, len(effects))
	for _, e := range effects {
		applied, err := Applies(e, args)
		if err != nil {
			return nil, err
		}
		if !applied {
			continue
		}
		if e.Resource == "workspace" {
			claims = append(claims, tool.Claim{Resource: FileResource(workspace), Mode: e.Mode})
		} else if claims, err = appendClaims(claims, workspace, e, args); err != nil {
			return nil, err
		}
	}
	return claims, nil
}

// readsArguments reports whether what an effect names depends on the arguments.
func readsArguments(e tool.Effect) bool {
	return e.When != "" || len(e.Unless) > 0 || strings.Contains(e.Resource, "{")
}

// Arguments decodes the arguments of a call by name.
func Arguments(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments are not an object", Err: err}
	}
	return args, nil
}

// Applies reports whether an effect counts for these arguments.
func Applies(e tool.Effect, args map[string]json.RawMessage) (bool, error) {
	if e.When != "" {
		if err := rejectCaseVariants(e.When, args); err != nil || absent(args[e.When]) {
			return false, err
		}
	}
	for _, name := range e.Unless {
		if err := rejectCaseVariants(name, args); err != nil || !absent(args[name]) {
			return false, err
		}
	}
	return true, nil
}

// absent reports whether an argument says nothing.
func absent(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "[]", "{}":
		return true
	default:
		return false
	}
}

// rejectCaseVariants rejects an argument whose name differs only in case from
// one that names a lock: a handler that reads both would touch what the one
// names, and hold the lock of the other.
func rejectCaseVariants(name string, args map[string]json.RawMessage) error {
	for other := range args {
		if other != name && strings.EqualFold(other, name) {
			return tool.Errorf(op, tool.Invalid,
				"the argument %q is not known; it is written %q", tool.Truncate(other), name)
		}
	}
	return nil
}

// appendClaims adds what one effect template names with these arguments.
func appendClaims(
	claims []tool.Claim, workspace string, e tool.Effect, args map[string]json.RawMessage,
) ([]tool.Claim, error) {
	kind, rest, _ := strings.Cut(e.Resource, ":")
	values, err := expand(rest, args)
	if err != nil {
		return nil, err
	}
	for _, value := range values {
		claim := tool.Claim{Resource: kind + ":" + value, Mode: e.Mode}
		if e.Resource == "repo:" { // whichever there are
			claims = append(claims, claim)
			continue
		}
		if kind == "file" || kind == "repo" { // both are paths, and one path has one name
			path, err := resolve(workspace, e, value)
			if err != nil {
				return nil, err
			}
			claim.Resource = kind + strings.TrimPrefix(FileResource(path), "file")
			if e.Folder != "" && path != workspace && isWithin(path, workspace) {
				claim.Mode = intention(e.Mode)
			}
		}
		if e.Folder == "" || !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims, nil
}

// resolve gives a path of a call its one name.
func resolve(workspace string, e tool.Effect, path string) (string, error) {
	if e.Folder == "" {
		return Canonical(workspace, path)
	}
	return canonicalIn(e.Folder, path), nil
}

// intention is the mode that a claim in m has on what lies above it. A path above
// the workspace is claimed so by a tool with a folder of its own: otherwise one call
// that is given / would hold up every other on the machine.
func intention(m tool.Mode) tool.Mode {
	if m.Writes() {
		return tool.IX
	}
	return tool.IS
}

// isWithin reports whether a canonical folder or file lies in another folder, or is it.
func isWithin(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// expand fills the {name} placeholders of a template. A placeholder whose
// argument is a list gives one value for each element; an absent argument gives
// no value at all. {name|host} is the host of the URL that the argument holds,
// {name|files} the files that the patch in it names, one value for each, and
// {name|sqlite} the file of the SQLite database that it names.
func expand(template string, args map[string]json.RawMessage) ([]string, error) {
	before, after, ok := strings.Cut(template, "{")
	if !ok {
		return []string{template}, nil
	}
	name, after, ok := strings.Cut(after, "}")
	if !ok {
		return nil, tool.Errorf(op, tool.Internal, "the effect template %q has an open brace", template)
	}
	name, form, _ := strings.Cut(name, "|")
	if err := rejectCaseVariants(name, args); err != nil {
		return nil, err
	}
	tails, err := expand(after, args)
	if err != nil {
		return nil, err
	}
	texts, err := inForm(form, Names(args[name]))
	if err != nil {
		return nil, err
	}
	var values []string
	for _, text := range texts {
		if before != "" || after != "" || form == hostForm {
			text = url.PathEscape(text) // a part of a name must not add levels to it
		}
		for _, tail := range tails {
			values = append(values, before+text+tail)
		}
	}
	return values, nil
}

// Names returns the names in an argument: a text, a number, or a list of
// them.
func Names(raw json.RawMessage) []string {
	var list []json.RawMessage
	if len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		var all []string
		for _, item := range list {
			all = append(all, Names(item)...)
		}
		return all
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if string(raw) == "null" {
			return nil
		}
		return []string{text}
	}
	if len(raw) == 0 || raw[0] == '{' {
		return nil
	}
	return []string{string(raw)}
}

// Canonical gives a path its one name: absolute, without symlinks in the part
// that exists, without dots. A path outside the workspace is refused here,
// before it can become a lock name; the handler's os.Root refuses it again.
func Canonical(workspace, path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", tool.Errorf(op, tool.Invalid, "the path %q holds a zero byte", tool.Truncate(path))
	}
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(workspace, path)
	}
	if full = filepath.Clean(full); len(full) > maxPath {
		return "", tool.Errorf(op, tool.Invalid, "the path %q is longer than the %d bytes that a path may have",
			tool.Truncate(path), maxPath)
	}
	real, err := evalExisting(full)
	if err != nil {
		return "", tool.Errorf(op, tool.Invalid, "the path %q cannot be resolved: %w", tool.Truncate(path), err)
	}
	if !isWithin(workspace, real) {
		return "", tool.Errorf(op, tool.Denied, "the path %q lies outside the workspace", tool.Truncate(path)).
			WithHint("the workspace is %s; name a path inside it", workspace)
	}
	return real, nil
}

// maxPath is the longest path that Linux opens. Resolving costs the square of the
// length, so that a path without a limit would hold a call for minutes.
const maxPath = 4096

// evalExisting resolves the symlinks of the longest part of a path that exists
// and keeps the rest as it is. A dangling link counts as its target.
func evalExisting(path string) (string, error) {
	const maxLinks = 40
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil { // the last part does not exist at all
			real, err = evalExisting(parent)
			return filepath.Join(real, filepath.Base(path)), err
		}
		if path = target; !filepath.IsAbs(target) {
			// The target begins in the folder that holds the link, which may itself be
			// reached through one: ".." is then not the parent that the path names.
			if parent, err = filepath.EvalSymlinks(parent); err != nil {
				return "", err
			}
			path = filepath.Join(parent, target)
		}
	}
	return "", errors.New("too many symbolic links")
}

// FileResource is the lock name of a canonical path. Where the file system
// does not tell case apart, neither does the lock.
func FileResource(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		path = strings.ToLower(path)
	}
	return "file:" + path
}
