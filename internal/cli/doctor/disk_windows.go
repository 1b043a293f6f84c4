package doctor

import "golang.org/x/sys/windows"

func freeBytes(folder string) (uint64, error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}

// writable is left to the first write to find out.
func writable(string) bool { return true }
