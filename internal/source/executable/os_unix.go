//go:build unix

package executable

import (
	"io/fs"
	"os"
	"path/filepath"

	"callgate/tool"
)

// programSuffix ends an executable's name.
const programSuffix = ""

// checkExecutable reports an executable that cannot run, or that any user could
// replace.
func checkExecutable(path string, info fs.FileInfo) *tool.Error {
	name := filepath.Base(path)
	if info.Mode().Perm()&0o111 == 0 {
		return tool.Errorf("executable.load", tool.Invalid, "the file %s is not executable (mode %04o)",
			name, info.Mode().Perm()).WithHint("chmod +x %s", name)
	}
	return checkPrivate(path, info)
}

// checkPrivate reports a file that any user may change, itself or through its
// folder.
func checkPrivate(path string, info fs.FileInfo) *tool.Error {
	const op = "executable.load"
	if info.Mode().Perm()&0o002 != 0 {
		return tool.Errorf(op, tool.Denied, "anybody may change %s (mode %04o)", filepath.Base(path), info.Mode().Perm()).
			WithHint("chmod o-w %s", filepath.Base(path))
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err == nil && folder.Mode().Perm()&0o002 != 0 {
		return tool.Errorf(op, tool.Denied, "anybody may put files into the folder of %s (mode %04o)",
			filepath.Base(path), folder.Mode().Perm()).WithHint("chmod o-w %s", filepath.Dir(path))
	}
	return nil
}
