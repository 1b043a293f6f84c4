package memtrim

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapProgram drops the pages of the program's file from this process's memory.
func unmapProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	found, err := programMappings(f, program)
	if err != nil {
		return err
	}
	for _, m := range found {
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
		if errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return nil
}

// mapping is a range of memory.
type mapping struct{ begin, end uintptr }

// programMappings reads a list of mappings, as /proc/self/smaps has it, and
// returns those of a file that can be dropped without losing anything. A page
// that the process wrote to is lost when it is dropped. So a mapping must not be
// writable now, and must hold no page of the process's own: a program whose
// addresses are relocated at its start has such pages, which are made read-only
// after that.
func programMappings(smaps io.Reader, file string) ([]mapping, error) {
	var found []mapping
	var candidate mapping // whose pages come next; zero if there is none
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		line := lines.Text()
		first, _, _ := strings.Cut(line, " ")
		if !strings.HasSuffix(first, ":") { // a mapping begins
			candidate, _ = parseMapping(line, file)
			continue
		}
		size, isSize := strings.CutPrefix(line, "Anonymous:")
		if isSize && candidate != (mapping{}) && strings.TrimSpace(size) == "0 kB" {
			found = append(found, candidate)
			candidate = mapping{}
		}
	}
	return found, lines.Err()
}

// parseMapping reads the first line of a mapping, such as
//
//	00400000-012bd000 r-xp 00000000 fe:00 1234    /usr/bin/callgate
//
// It accepts only a private mapping of the file that is not writable.
func parseMapping(line, file string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.HasSuffix(line, " "+file) {
		return m, false
	}
	if fields[1] != "r-xp" && fields[1] != "r--p" {
		return m, false
	}
	begin, end, found := strings.Cut(fields[0], "-")
	if !found {
		return m, false
	}
	from, err1 := strconv.ParseUint(begin, 16, strconv.IntSize)
	to, err2 := strconv.ParseUint(end, 16, strconv.IntSize)
	if err1 != nil || err2 != nil || from >= to {
		return m, false
	}
	return mapping{uintptr(from), uintptr(to)}, true
}
