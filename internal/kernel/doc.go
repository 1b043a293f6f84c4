// Package kernel wires the running engine. One process holds a state
// directory; it opens its parts lowest first, finishes what an earlier process
// left, then serves, and closes in the opposite order.
package kernel
