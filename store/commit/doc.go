// Package commit is the committer: it takes commands in order, resolves each of them against what is stored, and commits
// the resulting operations in batches to a [store.Engine]. It also answers the reads, and checks a whole store offline.
//
// It is not a database: it knows keys and values, and what they mean, and leaves it to the engine how they are kept.
// It knows no protocol, no connection, and no Pebble.
//
// The order to read it in: keys.go and the values (conversation.go, message.go, inbox.go, member.go, dedup.go, cursor.go,
// obligation.go), batch.go, committer.go, then one file per command.
package commit
