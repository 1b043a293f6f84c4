package document

import "strings"

// # What several kernels have in common
//
// Kernels that share a database have their documents each for itself, but for those of the collections below, which
// are one for all of them. The law of such a collection:
//
//   - Nothing in it is of one machine: no path, no program, no address that is another's elsewhere.
//   - Who changes a document names the version that it read, and begins again if another kernel was faster.
//   - A copy in memory is compared with the store before it counts, at the latest a second after it was compared last.
//     So what is revoked at one kernel counts nowhere a second later, whatever was or was not told meanwhile, and
//     nothing counts that cannot be compared.
//
// A kernel that is alone on its database has none of them but tokens, users and their secrets, unless it had
// others before.
//
//	tokens                    tokens
//	~shared/users             the users that were seen: see package users
//	~shared/secrets           the sealed secrets that users have of their own: see package usersecrets
//	~shared/apps              which app file, at which node, an app's ID belongs to: see package consent
//	~shared/lasting_grants    the lasting grants that count for an app at every node: see package lasting
//	module/queue/~shared/…    items of queues that apps pushed which are at several nodes: see package queue
//	module/memory/~shared/…   what agents remember, of users and apps that are at several nodes: see package memstore

// sharedPart is the part of a name that tells what is shared. [Join] makes no part that begins with a tilde.
const sharedPart = "~shared/"

// The collections that are shared.
const (
	SharedTokens = "tokens"
	SharedUsers  = sharedPart + "users"
	SharedApps   = sharedPart + "apps"
	SharedGrants = sharedPart + "lasting_grants"
	// SharedSecrets are the secrets of users.
	SharedSecrets = sharedPart + "secrets"
	sharedQueues  = "module/queue/" + sharedPart
	sharedMemory  = "module/memory/" + sharedPart
)

// Shared is the name of the shared collection that is beside one, in the same scope.
func Shared(collection string) string { return sharedPart + collection }

// IsShared reports a collection that all kernels on a database have in common.
func IsShared(collection string) bool {
	return collection == SharedTokens || collection == SharedUsers || collection == SharedApps ||
		collection == SharedGrants || collection == SharedSecrets || strings.HasPrefix(collection, sharedMemory) ||
		strings.HasPrefix(collection, sharedQueues)
}
