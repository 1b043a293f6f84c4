// Package version holds the version of the program, for every part that has to
// tell it to somebody else.
package version

// Version is the version of this program.
const Version = "0.1.0"
