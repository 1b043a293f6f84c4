//go:build !linux && !darwin

package filestate

import (
	"io/fs"

	"callgate/internal/journal"
)

// identify says that a file cannot be told from another of the same name here: then
// nothing is compared.
func identify(fs.FileInfo, *journal.FileState) bool { return false }
