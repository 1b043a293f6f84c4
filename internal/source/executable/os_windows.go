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

// permitted reports an executable that cannot run: its name's ending decides.
func permitted(path string, _ fs.FileInfo) *tool.Error {
	if !slices.Contains([]string{".exe", ".com", ".bat", ".cmd"}, strings.ToLower(filepath.Ext(path))) {
		return tool.Errorf("executable.load", tool.Invalid, "the file %s is not executable", filepath.Base(path)).
			WithHint("give it the ending .exe, .com, .bat or .cmd")
	}
	return nil
}

// private has nothing to say: the mode bits do not tell who may write.
func private(string, fs.FileInfo) *tool.Error { return nil }
