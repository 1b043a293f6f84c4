//go:build unix

package trust

import (
	"fmt"
	"io/fs"
)

// checkPrivate reports a file that other users may change.
func checkPrivate(info fs.FileInfo) error {
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("others may change it (mode %04o)", perm)
	}
	return nil
}
