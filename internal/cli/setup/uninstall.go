package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/setup/layout"
	"callgate/internal/cli/text"
	"callgate/internal/importer/backup"
	"callgate/internal/statedir"
	"callgate/tool"
)

// uninstall is uninstall.
type uninstall struct {
	*command.Env
	yes, purge bool
}

func newUninstall(e *command.Env) *cobra.Command {
	u := &uninstall{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "uninstall", Short: "Say what of Callgate is on this machine, and remove it with --yes",
		Long: `Say what of Callgate is on this machine: the program, completions, manual pages, services,
the state directory, app files, and the clients' files that an import changed.

With --yes the kernel is ended, clients get the files back that they had before an import,
and services, completions, manual pages and the program are removed. The state directory
stays, unless --purge says that it goes too: journal, secrets, conversations and all; a
person says that, by a code at the terminal. App files are yours and stay. What a package
brought is left to its manager.`,
		Example: `  callgate uninstall                 look
  callgate uninstall --yes           keep the state directory
  callgate uninstall --yes --purge   keep nothing`,
		Args: cobra.NoArgs,
	}, u.run)
	c.Flags().BoolVar(&u.yes, "yes", false, "remove it")
	c.Flags().BoolVar(&u.purge, "purge", false, "the state directory too")
	u.BindToken(c)
	return c
}

// item is one thing that is on the machine.
type item struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes,omitempty"`
	Note   string `json:"note,omitempty"`   // what it is, or why it stays
	Fate   string `json:"fate"`             // remove, restore, end or keep; removed, restored, ended or kept
	Failed string `json:"failed,omitempty"` // why it is still there

	do func(context.Context) error // nil: it stays
}

// The fates of items before anything is done.
const (
	toRemove  = "remove"
	toRestore = "restore"
	toEnd     = "end"
	toKeep    = "keep"
)

func done(fate string) string {
	return map[string]string{toRemove: "removed", toRestore: "restored", toEnd: "ended", toKeep: "kept"}[fate]
}

func (u *uninstall) run(ctx context.Context, _ []string) error {
	h, err := look(u.Env)
	if err != nil {
		return err
	}
	items, err := u.items(ctx, h)
	if err != nil {
		return err
	}
	if !u.yes {
		err := u.show(items)
		u.Status("nothing was removed; %s uninstall --yes does it", u.Self())
		return err
	}
	if u.purge {
		if sure, err := u.consent(ctx, h); err != nil || !sure {
			return err
		}
	}
	failed := false
	for i := range items {
		it := &items[i]
		if it.do != nil {
			if err := it.do(ctx); err != nil {
				it.Failed, failed = err.Error(), true
				continue
			}
		}
		it.Fate = done(it.Fate)
	}
	if err := u.show(items); err != nil {
		return err
	}
	if failed {
		u.Status("not everything could be removed")
		return command.Exit(command.ExitFailed)
	}
	return nil
}

// consent has a person say that the state directory goes. One in which no kernel ever ran
// holds nothing that anybody would miss.
func (u *uninstall) consent(ctx context.Context, h *host) (sure bool, err error) {
	if !used(h.dir) {
		return true, nil
	}
	size := amount.Bytes(layout.Size(h.dir.String()))
	u.Status("%s goes for good: journal, secrets, conversations, approvals (%s)", h.dir, size)
	err = u.WithKey(ctx, func(k *command.Kernel) error {
		sure, err = u.Consent(ctx, k, true, "Remove it?")
		return err
	})
	var e *tool.Error
	if errors.As(err, &e) && e.Kind == tool.Unavailable {
		return false, e.WithHint("no kernel can ask you here; to remove it all the same: rm -r '%s'", h.dir)
	}
	return sure, err
}

// used reports whether a kernel ever ran in a state directory: it left a database, or names one elsewhere.
func used(dir statedir.Dir) bool {
	if id, err := dir.ReadNode(); err != nil || id != "" {
		return true
	}
	for _, path := range []string{dir.Database(), dir.DatabaseURL()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// items lists what there is, in the order in which it goes: the program last.
func (u *uninstall) items(ctx context.Context, h *host) ([]item, error) {
	var items []item
	if k := h.kernel(ctx); k != nil {
		process := "process " + strconv.Itoa(k.PID)
		items = append(items, item{Kind: "kernel", Path: process, Note: "version " + k.Version, Fate: toEnd,
			do: func(ctx context.Context) error { _, _, err := command.EndKernel(ctx, h.dir, false); return err }})
	}
	items = append(items, h.serviceItems()...)
	imported, err := h.importItems()
	if err != nil {
		return nil, err
	}
	items = append(items, imported...)
	items = append(items, h.fileItems()...)
	state, err := u.stateItem(h)
	if err != nil {
		return nil, err
	}
	return append(items, state...), nil
}

func (h *host) serviceItems() (items []item) {
	if h.manager == nil {
		return nil
	}
	for _, s := range h.manager.All() {
		it := item{Kind: "service", Path: h.manager.File(s.Name), Fate: toRemove,
			Note: "runs " + s.Program + " on " + s.State,
			do:   func(ctx context.Context) error { return h.manager.Remove(ctx, s.Name) }}
		if !sameFile(s.Program, h.Program) {
			if _, err := os.Stat(s.Program); err == nil {
				it.Fate, it.do, it.Note = toKeep, nil, "runs another program, "+s.Program
			}
		}
		items = append(items, it)
	}
	return items
}

// importItems are the files of other programs that an import changed.
func (h *host) importItems() (items []item, err error) {
	list, err := backup.List(filepath.Join(h.dir.String(), "backups"))
	if err != nil {
		return nil, err
	}
	for _, b := range list {
		if b.Secret == "" {
			items = append(items, item{Kind: "import", Path: b.Path, Note: "as it was before the import", Fate: toRestore,
				do: func(context.Context) error { return backup.Undo(b, false) }})
		}
	}
	return items, nil
}

// fileItems are the files of the program, itself last, and the user's app file.
func (h *host) fileItems() (items []item) {
	if path := h.UserFile(); path != "" {
		if info, err := os.Stat(path); err == nil {
			items = append(items, item{Kind: "app file", Path: path, Bytes: info.Size(), Note: "yours", Fate: toKeep})
		}
	}
	home := h.Getenv("HOME")
	files := layout.Find(h.Program, home)
	pack := layout.Package(h.Program)
	var programs []item
	for _, f := range files {
		it := item{Kind: string(f.Kind), Path: f.Path, Bytes: f.Bytes, Fate: toRemove,
			do: func(context.Context) error { return layout.Remove(f) }}
		if pack != "" && (home == "" || !strings.HasPrefix(f.Path, home+string(filepath.Separator))) {
			it.Fate, it.do, it.Note = toKeep, nil, removePackage(pack)
		}
		if f.Kind == layout.Program {
			programs = append(programs, it)
		} else {
			items = append(items, it)
		}
	}
	if h.program != h.Program && sameFile(h.program, h.Program) {
		if info, err := os.Lstat(h.program); err == nil && info.Mode()&fs.ModeSymlink != 0 && pack == "" {
			programs = append(programs, item{Kind: "link", Path: h.program, Note: "to " + h.Program, Fate: toRemove,
				do: func(context.Context) error { return os.Remove(h.program) }})
		}
	}
	for _, other := range layout.OnPath(h.Getenv("PATH")) {
		if !sameFile(other, h.Program) {
			programs = append(programs, item{Kind: "program", Path: other, Note: "another callgate", Fate: toKeep})
		}
	}
	return append(items, programs...)
}

// removePackage is how a package is removed.
func removePackage(kind string) string {
	if kind == "rpm" {
		return "of a package: sudo dnf remove callgate"
	}
	return "of a package: sudo apt-get remove callgate"
}

// stateItem is the state directory.
func (u *uninstall) stateItem(h *host) ([]item, error) {
	path, err := filepath.EvalSymlinks(h.dir.String())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, &tool.Error{Op: "cli.uninstall", Kind: tool.Failed, Err: err,
			Message: "the state directory cannot be found"}
	}
	it := item{Kind: "state", Path: h.dir.String(), Bytes: layout.Size(path), Fate: toKeep,
		Note: "journal, secrets, conversations; --purge removes it"}
	if !u.purge {
		return []item{it}, nil
	}
	if err := u.mayGo(h, path); err != nil {
		return nil, err
	}
	it.Fate, it.Note = toRemove, "for good"
	it.do = func(ctx context.Context) error {
		if _, _, err := command.EndKernel(ctx, h.dir, false); err != nil { // one may have come since
			return err
		}
		return errors.Join(os.RemoveAll(path), os.RemoveAll(h.dir.String()))
	}
	items := []item{it}
	if _, err := os.Stat(h.dir.Secrets()); err == nil {
		if _, err := os.Stat(filepath.Join(path, "secrets.key")); err != nil {
			items = append(items, item{Kind: "key", Path: "the keyring of this system",
				Note: "the key of the secrets, which opens nothing once they are gone", Fate: toKeep})
		}
	}
	return items, nil
}

// mayGo refuses to remove a folder that is no state directory, or that holds more than one.
func (u *uninstall) mayGo(h *host, path string) error {
	here, err := u.WorkspaceDir()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	refused := tool.Errorf("cli.uninstall", tool.Denied, "%s is not removed", path)
	for _, inside := range []string{h.Getenv("HOME"), here, h.Program} {
		if real, err := filepath.EvalSymlinks(inside); err == nil {
			inside = real
		}
		if rel, err := filepath.Rel(path, inside); inside != "" && err == nil && rel != ".." &&
			!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return refused.WithHint("it holds %s: remove by hand what is Callgate's", inside)
		}
	}
	if _, err := os.Stat(filepath.Join(path, "lock")); err != nil {
		return refused.WithHint("it has no lock file, so no kernel ever held it: is it the right folder?")
	}
	return nil
}

// show writes the items: one a line, the manual pages together.
func (u *uninstall) show(items []item) error {
	if u.JSON {
		return u.WriteJSON(struct {
			Items []item `json:"items"`
		}{items})
	}
	var b strings.Builder
	pages, bytes := 0, int64(0)
	line := func(it item) {
		fmt.Fprintf(&b, "%-8s  %-11s  %s", it.Fate, it.Kind, it.Path)
		if it.Bytes > 0 {
			fmt.Fprintf(&b, " (%s)", amount.Bytes(it.Bytes))
		}
		if it.Note != "" {
			b.WriteString(": " + it.Note)
		}
		b.WriteByte('\n')
		if it.Failed != "" {
			fmt.Fprintf(&b, "          %s\n", it.Failed)
		}
	}
	for i, it := range items {
		if it.Kind == string(layout.Manual) && it.Failed == "" {
			pages, bytes = pages+1, bytes+it.Bytes
			if i+1 < len(items) && items[i+1].Kind == it.Kind && items[i+1].Failed == "" {
				continue
			}
			it.Kind, it.Bytes = amount.Of(pages, "page"), bytes
			it.Path, pages, bytes = filepath.Dir(it.Path), 0, 0
		}
		line(it)
	}
	return u.Print(text.Safe(b.String()))
}
