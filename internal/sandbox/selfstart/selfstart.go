// Package selfstart makes a program its own sandbox helper. Package main imports
// it for that effect alone:
//
//	import _ "callgate/internal/sandbox/selfstart"
//
// A sandboxed run begins with a second start of this same program (package
// launcher says why). A program that imports this package recognises that start
// by its argument and an open socket, becomes the helper, and never reaches its
// main function. Every other start is as if the package were not there. A
// program that does not import it has no helper: sandboxed runs are refused, and
// the error names this package.
//
// # Why it is an import and not a call in main
//
// A call in main comes after every package of the program was initialised. For
// the callgate command that costs the helper 55 milliseconds of processor time,
// and for a program with fewer libraries still several; the whole start of a
// helper takes 3. A call to git is several runs, one after the other, and would
// wait for that each time. Packages are initialised in the order of their import
// paths, as far as their own imports allow, and this one has next to no imports:
// its turn comes before that of any large library.
//
// This is the one place in which importing a package does something. A rule
// of package house permits only main packages, the public package and tests to import it.
package selfstart
