//go:build unix

package doctor

import "golang.org/x/sys/unix"

func freeBytes(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

func writable(folder string) bool { return unix.Access(folder, unix.W_OK) == nil }
