package process

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	folderPrefix = "callgate-browser-"
	ownerName    = "owner" // the file that is locked as long as its folder is used
	tempName     = "t"
	// Whoever makes a folder has this long to lock it.
	minAge = time.Hour
)

// temporary is where folders are made: the system's place for it, unless its
// name is so long that the sockets which the browser makes there could not be
// called by theirs.
func temporary() string {
	const socket, most = "/" + folderPrefix + "0123456789/" + tempName + "/org.chromium.Chromium.123456/SingletonSocket", 104
	if temp := os.TempDir(); len(temp)+len(socket) < most || runtime.GOOS == "windows" {
		return temp
	}
	return "/tmp"
}

// folder is a temporary folder that is held.
type folder struct {
	path  string
	owner *os.File
}

func newFolder(temp string) (*folder, error) {
	path, err := os.MkdirTemp(temp, folderPrefix)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if f.owner, err = os.OpenFile(filepath.Join(path, ownerName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		err = lock(f.owner)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(path, tempName), 0o700)
	}
	if err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// remove lets go of the folder and deletes it. A process of the browser that
// is just ending may still write a file, so it is tried more than once.
func (f *folder) remove() error {
	if f.owner != nil {
		_ = f.owner.Close()
	}
	var err error
	for range 50 {
		if err = os.RemoveAll(f.path); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// sweep removes the folders that dead kernels left, and ends what still runs
// in them.
func sweep(temp string, log *slog.Logger) {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(temp, e.Name())
		if !strings.HasPrefix(e.Name(), folderPrefix) || !e.IsDir() || !abandoned(path) {
			continue
		}
		killByFolder(path)
		if err := os.RemoveAll(path); err != nil {
			log.Warn("the folder of a browser that ended could not be removed", "folder", path, "error", err)
			continue
		}
		log.Info("removed what a browser of a dead kernel left", "folder", path)
	}
}

// abandoned reports a folder of ours that nobody holds.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUser(info) {
		return false
	}
	owner, err := os.OpenFile(filepath.Join(path, ownerName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Since(info.ModTime()) > minAge
	}
	if err != nil {
		return false
	}
	defer owner.Close()
	return lock(owner) == nil
}
