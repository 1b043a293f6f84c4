package executable

import (
	"io/fs"
	"os"
	"path/filepath"

	"callgate/internal/ownership"
	"callgate/tool"
)

// checkPrivate reports a file that somebody other than the user and root owns or
// may change: itself, or through its folder, or through a folder above it up to
// top. A file that is not below top is checked with its own folder.
func checkPrivate(path string, info fs.FileInfo, top string) *tool.Error {
	const op = "executable.load"
	name := filepath.Base(path)
	if w := ownership.WriterOf(info); w != nil {
		return tool.Errorf(op, tool.Denied, "%s may change %s (%s)", w.Who, name, w.How).WithHint("%s", w.Hint(name))
	}
	folder := filepath.Dir(path)
	if w := folderWriter(folder, 0); w != nil {
		return tool.Errorf(op, tool.Denied, "%s may put files into the folder of %s (%s)", w.Who, name, w.How).
			WithHint("%s", w.Hint(folder))
	}
	for folder != top && inside(top, folder) {
		folder = filepath.Dir(folder)
		// Where the sticky bit is set, others cannot replace what is not theirs.
		if w := folderWriter(folder, fs.ModeSticky); w != nil {
			return tool.Errorf(op, tool.Denied, "%s may replace the folders in %s, where %s lies (%s)",
				w.Who, folder, name, w.How).WithHint("%s", w.Hint(folder))
		}
	}
	return nil
}

// folderWriter returns who else may write into a folder, unless its mode has the
// bits that excuse it. An owner is never excused.
func folderWriter(folder string, excuse fs.FileMode) *ownership.Writer {
	info, err := os.Stat(folder)
	if err != nil {
		return nil // opening the file reports it
	}
	if info.Mode()&excuse != 0 {
		return ownership.OwnerOf(info)
	}
	return ownership.WriterOf(info)
}

// topFolder returns the folder up to which the folders of tools are checked, without
// symbolic links: root if dir is below it, else the tools folder that dir is a layer of.
func topFolder(root, dir string) string {
	around := filepath.Dir(dir)
	if root == "" {
		return around
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil || !inside(real, dir) {
		return around
	}
	return real
}
