//go:build linux

package world

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// slowDisk makes syncs of a C program slow: a library in front of fsync and fdatasync waits first, for as many
// milliseconds as a file says.
type slowDisk struct{ library, file string }

const slowSource = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_first(void) {
	const char *path = getenv("SLOW_DISK");
	FILE *f = path ? fopen(path, "r") : NULL;
	int ms = 0;
	if (f) {
		if (fscanf(f, "%d", &ms) != 1) ms = 0;
		fclose(f);
	}
	if (ms > 0) usleep((useconds_t)ms * 1000);
}

int fsync(int fd) {
	wait_first();
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
	wait_first();
	return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
`

func newSlowDisk(folder string) (*slowDisk, error) {
	s := &slowDisk{filepath.Join(folder, "slowdisk.so"), filepath.Join(folder, "slowdisk.ms")}
	source := filepath.Join(folder, "slowdisk.c")
	if err := os.WriteFile(source, []byte(slowSource), 0o600); err != nil {
		return nil, err
	}
	if err := s.set(0); err != nil {
		return nil, err
	}
	return s, run("gcc", "-shared", "-fPIC", "-O1", "-o", s.library, source, "-ldl")
}

// set says how long each sync waits. What reads a half-written number waits shorter, once.
func (s *slowDisk) set(d time.Duration) error {
	return os.WriteFile(s.file, []byte(strconv.FormatInt(d.Milliseconds(), 10)), 0o644)
}
