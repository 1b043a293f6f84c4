package executable

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// programSuffix ends an executable's name.
const programSuffix = ".exe"

// checkExecutable reports an executable that cannot run: its name's ending decides.
func checkExecutable(path string, _ fs.FileInfo) *tool.Error {
	if !slices.Contains([]string{".exe", ".com", ".bat", ".cmd"}, strings.ToLower(filepath.Ext(path))) {
		return tool.Errorf("executable.load", tool.Invalid, "the file %s is not executable", filepath.Base(path)).
			WithHint("give it the ending .exe, .com, .bat or .cmd")
	}
	return nil
}

// checkPrivate has nothing to say: the mode bits do not tell who may write.
func checkPrivate(string, fs.FileInfo) *tool.Error { return nil }
