package mask

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// AgentSockets are the places of sockets by which programs act for the user: the
// session's bus, the service manager, key agents, keyrings, terminal multiplexers.
// Through them a process would do what it cannot do itself: a service manager
// starts programs that nothing contains. They need not exist.
func AgentSockets() []string {
	uid := strconv.Itoa(os.Getuid())
	paths := []string{
		"/run/user/" + uid, "/tmp/tmux-" + uid, "/run/screen", "/tmp/screens", "/tmp/uscreens",
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && filepath.Dir(dir) != filepath.Clean(dir) {
		paths = append(paths, filepath.Clean(dir))
	}
	if dir := os.Getenv("TMUX_TMPDIR"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, "tmux-"+uid))
	}
	bus := strings.TrimPrefix(os.Getenv("DBUS_SESSION_BUS_ADDRESS"), "unix:path=")
	bus, _, _ = strings.Cut(bus, ",")
	for _, socket := range []string{os.Getenv("SSH_AUTH_SOCK"), bus} {
		if filepath.IsAbs(socket) {
			paths = append(paths, filepath.Clean(socket))
		}
	}
	for _, pattern := range []string{"/tmp/ssh-*/agent.*", "/tmp/dbus-*", "/tmp/vscode-*.sock"} {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		paths = append(paths, found...)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !ownPlace(path) })
}

// ownPlace reports whether a path is a folder or a socket of the user's or the
// system's: in a shared folder somebody else could lay a link under such a name.
func ownPlace(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Getuid() || stat.Uid == 0) && (info.IsDir() || info.Mode()&os.ModeSocket != 0)
}
