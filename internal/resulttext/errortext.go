package resulttext

import (
	"slices"
	"strings"

	"callgate/tool"
)

// ErrorText tells a failure so that a reader can act on it: see [tool.Error.ModelText].
// It names the tools that the reader has, as the reader calls them, and no others.
func ErrorText(e *tool.Error, names Names) string {
	if names == nil {
		return e.ModelText()
	}
	told := *e
	told.Hint = Advice(e.Hint, names)
	told.Similar = nil
	for _, name := range e.Similar {
		called, isTool := names(name)
		switch {
		case !isTool: // a parameter, a file: it is what it is
			called = name
		case called == "":
			continue
		}
		if !slices.Contains(told.Similar, called) && !strings.Contains(told.Hint, called) {
			told.Similar = append(told.Similar, called)
		}
	}
	return told.ModelText()
}
