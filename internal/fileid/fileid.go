// Package fileid tells one file from another of the same name, also after the process
// that looked at it has ended.
//
// Law: two looks with the same identity saw the same file; the identity and the time of
// its last change together say that nobody wrote it, renamed it or changed its mode in
// between, as far as the file system's clock can tell.
package fileid

// ID is the identity of a file. It can be written down.
type ID struct {
	Device  uint64 `json:"device,omitempty"`
	Inode   uint64 `json:"inode,omitempty"`
	Changed int64  `json:"changed,omitempty"` // when it was last changed in any way, in nanoseconds
}
