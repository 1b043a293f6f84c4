package trust

import "io/fs"

// checkPrivate reports nothing: mode bits do not say who may write.
func checkPrivate(fs.FileInfo) error { return nil }
