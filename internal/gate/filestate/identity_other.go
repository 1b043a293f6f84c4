//go:build !linux && !darwin

package filestate

import (
	"io/fs"

	"callgate/internal/journal/doubt"
)

// identify says that a file cannot be told from another of the same name here: then
// nothing is compared.
func identify(fs.FileInfo, *doubt.FileState) bool { return false }
