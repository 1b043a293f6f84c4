// Package ending reads how a program ended.
package ending

import "slices"

// stopping are the signals with which somebody ends a program. Others, such as
// SIGSEGV, a program brings on itself.
var stopping = []string{"SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"}

// CutOff reports whether a program that ended by a signal was ended in the middle of
// its work by somebody else, so that nobody knows how far it came: a person, the
// system when memory ran out. One that crashes was not: it failed.
func CutOff(signal string) bool { return slices.Contains(stopping, signal) }
