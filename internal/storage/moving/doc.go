// Package moving copies everything that one storage driver keeps to another, and proves that it is there.
//
// # Laws
//
//   - The source is only read.
//   - A copy that was broken off, at any point, can be continued: every row of the target is then one of the source,
//     and each batch was added whole. A target that has anything else is refused.
//   - Nothing counts as copied before it was read back from the target and compared with the source, cell by cell.
//   - The move of a state directory happens at one moment, when the file that names the database is written. Before it
//     the kernel starts on the old database, which has everything, and after it on the new one, which has everything.
package moving
