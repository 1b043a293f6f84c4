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

	"callgate/internal/tempdir"
)

const (
	folderPrefix = "callgate-browser-"
	ownerName    = "owner"   // the file that is locked as long as its folder is used
	tempName     = "t"       // made when the owner's file is locked
	minAge       = time.Hour // of a folder that is not whole, before it is removed
)

// temporary is where folders are created: the system's temporary folder, unless the paths
// of the sockets that the browser creates there would be too long.
func temporary() string {
	const socket = "/" + folderPrefix + "0123456789/" + tempName + "/org.chromium.Chromium.123456/SingletonSocket"
	const maxPath = 104
	if temp := tempdir.System(); len(temp)+len(socket) < maxPath || runtime.GOOS == "windows" {
		return temp
	}
	return "/tmp"
}

// folder is a temporary folder and the lock on it.
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
	f.owner, err = os.OpenFile(filepath.Join(path, ownerName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
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

// remove unlocks and deletes the folder. It tries more than once, because a process of the
// browser that is just ending may still write a file.
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

// sweep removes the folders that dead kernels left, and kills the processes in them.
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
			log.Warn("the folder of a browser whose kernel died could not be removed", "folder", path, "error", err)
			continue
		}
		log.Info("removed the folder of a browser whose kernel died", "folder", path)
	}
}

// abandoned reports a folder of this user without an owner. One that is being made has none
// yet: its lock is not looked at, nor taken from who is about to.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUser(info) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(path, tempName)); errors.Is(err, fs.ErrNotExist) {
		return time.Since(info.ModTime()) > minAge
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
