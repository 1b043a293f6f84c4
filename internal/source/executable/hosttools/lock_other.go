//go:build !unix

package hosttools

import "os"

func lock(*os.File) (unlock func()) { return func() {} }

func isSocket(*os.File) bool { return false }
