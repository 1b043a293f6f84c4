//go:build linux

package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// prowl is another user of the machine. It tries, round after round, what such a
// user can try against the processes and folders of its victim in the temporary
// folder, and prints everything that succeeded. Its victim's suites must pass
// meanwhile, and it must print nothing.
func prowl(victim, sentinel string) error {
	uid, _, err := lookup(victim)
	if err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	bait, err := layBait(sentinel)
	defer func() {
		for _, folder := range bait {
			_ = os.RemoveAll(folder)
		}
	}()
	if err != nil {
		return err
	}
	before, err := os.Stat(sentinel)
	if err != nil {
		return err
	}
	rounds := 0
	for tick := time.Tick(100 * time.Millisecond); ; rounds++ {
		lookAround(uint32(uid))
		readEnvironments(uint32(uid))
		if now, err := os.Stat(sentinel); err != nil || now.Mode() != before.Mode() {
			fmt.Printf("the mode of a file of %s was changed through a link: %v, %v\n", victim, now, err)
		}
		select {
		case <-ended:
			fmt.Fprintf(os.Stderr, "otheruser: %d rounds\n", rounds)
			return nil
		case <-tick:
		}
	}
}

// layBait makes folders with the names that the sandbox's have, which hold links to
// a file of the victim: who clears them by name follows the links.
func layBait(sentinel string) (folders []string, err error) {
	for i := range 20 {
		folder := filepath.Join(os.TempDir(), fmt.Sprintf("callgate-run-%d", i))
		if err := os.Mkdir(folder, 0o777); err != nil {
			return folders, err
		}
		folders = append(folders, folder)
		_ = os.Chmod(folder, 0o777)
		if err := os.Symlink(sentinel, filepath.Join(folder, "link")); err != nil {
			return folders, err
		}
		if err := os.Symlink(filepath.Dir(sentinel), filepath.Join(folder, "folder")); err != nil {
			return folders, err
		}
	}
	return folders, nil
}

// secretFiles are names in a state directory that nobody else may read.
var secretFiles = map[string]bool{
	"human.key": true, "secrets.box": true, "secrets.key": true, "callgate.db": true, "journal.key": true,
}

// lookAround opens what it can of the victim's files in the temporary folder, and
// speaks to every socket.
func lookAround(victim uint32) {
	_ = filepath.WalkDir(os.TempDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it may not look there, which is right
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != victim {
			return nil
		}
		switch {
		case info.Mode()&fs.ModeSocket != 0:
			speak(path)
		case secretFiles[d.Name()]:
			if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
				fmt.Printf("%s was read\n", path)
			}
		}
		return nil
	})
}

func speak(socket string) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, "GET /v1/tools HTTP/1.1\r\nHost: x\r\n\r\n")
	if n, _ := conn.Read(make([]byte, 512)); n > 0 {
		fmt.Printf("%s answered another user\n", socket)
	}
}

// readEnvironments tries to read the environments of the victim's processes.
func readEnvironments(victim uint32) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != victim {
			continue
		}
		if data, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ")); err == nil && len(data) > 0 {
			fmt.Printf("the environment of process %s was read\n", entry.Name())
		}
	}
}

// pose serves a kernel's socket where the victim looks for one, in a folder of its
// own, and prints what it is sent.
func pose(socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o777); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	for _, path := range []string{filepath.Dir(socket), socket} {
		if err := os.Chmod(path, 0o777); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "otheruser: ready")
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go receive(conn)
	}
}

func receive(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if n, _ := conn.Read(make([]byte, 512)); n > 0 {
		fmt.Printf("%d bytes were sent to another user's kernel\n", n)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
}
