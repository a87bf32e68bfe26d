// Package store is the durable domain: conversations, inboxes, cursors, and the two seams around them.
//
// The outer seam, [Store], takes commands and answers reads; the server stands on it. The inner seam, [Engine],
// commits resolved operations and reads keys in order; a database stands under it. Package store/commit joins the two.
//
// It knows no frames, no connections and no database.
package store
