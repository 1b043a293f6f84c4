package registry

import "path/filepath"

// Scope names what an app brings with it: one file used in several folders is
// several apps, because its variables may say where it is used.
func Scope(appFile, workspace string) string {
	if appFile == "" || filepath.Dir(appFile) == workspace {
		return appFile
	}
	return appFile + " in " + workspace
}
