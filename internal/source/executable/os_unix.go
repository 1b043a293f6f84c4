//go:build unix

package executable

import (
	"io/fs"
	"path/filepath"

	"callgate/tool"
)

// programSuffix ends an executable's name.
const programSuffix = ""

// checkExecutable reports an executable that cannot run.
func checkExecutable(path string, info fs.FileInfo) *tool.Error {
	name := filepath.Base(path)
	if info.Mode().Perm()&0o111 == 0 {
		return tool.Errorf("executable.load", tool.Invalid, "the file %s is not executable (mode %04o)",
			name, info.Mode().Perm()).WithHint("chmod +x %s", name)
	}
	return nil
}
