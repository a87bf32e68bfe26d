package storetest

import (
	"fmt"
	"slices"

	"lifeline/store"
)

var memberTests = []test{
	{name: "Spans", run: testSpans},
	{name: "EmptySpan", run: testEmptySpan},
	{name: "MembersAsSets", run: testMembersAsSets},
	{name: "MemberVersions", run: testMemberVersions},
	{name: "TooManyMembers", run: testTooManyMembers},
	{name: "WhoMaySend", run: testWhoMaySend},
}

// sees compares the Seqs of a group that a user can read with what the user should see.
func (r *rig) sees(user, group string, want ...uint64) {
	r.Helper()
	var got []uint64
	page := r.historyPage(store.HistoryRead{User: user, Conversation: group, From: 1, To: 1000, MaxBytes: store.MaxPageBytes})
	for _, m := range page.Messages {
		got = append(got, m.Seq)
	}
	if !slices.Equal(got, want) {
		r.Fatalf("%s sees %v of %s, want %v", user, got, group, want)
	}
}

// S10, S13: joining, leaving, coming back: the inbox and the history tell the same.
func testSpans(r *rig) {
	say := func(from string) { r.Helper(); r.must(r.group(from, "tram", "ding")) }
	r.must(members("tram", 1, "ann", "bob"))
	say("ann")
	say("bob")
	r.must(members("tram", 2, "cid"))
	say("cid")
	r.must(members("tram", 3, "-bob"))
	say("ann")
	say("cid")
	r.must(members("tram", 4, "bob", "-cid"))
	say("bob")
	r.must(members("tram", 5, "-bob"))
	r.must(members("tram", 6, "bob"))
	say("ann")
	r.must(members("tram", 7, "-ann", "-bob"))

	r.wantInbox("ann", "tram +1", "tram 1", "tram 2", "tram 3", "tram 4", "tram 5", "tram 6", "tram 7", "tram -7")
	r.wantInbox("bob", "tram +1", "tram 1", "tram 2", "tram 3", "tram -3", "tram +6", "tram 6", "tram -6", "tram +7", "tram 7", "tram -7")
	r.wantInbox("cid", "tram +3", "tram 3", "tram 4", "tram 5", "tram -5")
	r.sees("ann", "tram", 1, 2, 3, 4, 5, 6, 7)
	r.sees("bob", "tram", 1, 2, 3, 6, 7)
	r.sees("cid", "tram", 3, 4, 5)
}

// S13: who left before a message came was a member all the same.
func testEmptySpan(r *rig) {
	r.must(members("tram", 1, "ann", "bob"))
	r.must(members("tram", 2, "-bob"))
	r.must(r.group("ann", "tram", "bob is gone"))
	r.wantInbox("bob", "tram +1", "tram -0")
	r.sees("bob", "tram")
	page := r.historyPage(store.HistoryRead{User: "bob", Conversation: "tram", From: 1, To: 1, MaxBytes: 1})
	if page.Refusal != store.None || page.FirstVisible != 0 {
		r.Fatalf("history of a member that saw nothing: %+v", page)
	}
}

// S12: lists are sets, removing comes first, and who notices nothing gets no entry.
func testMembersAsSets(r *rig) {
	r.must(members("tram", 1, "ann", "ann", "bob", "-cid"))
	r.must(members("tram", 2, "ann", "-dan"))
	r.must(r.group("ann", "tram", "one"))
	r.must(members("tram", 3, "bob", "-bob", "cid", "-cid", "-eve", "-eve"))
	r.must(r.group("ann", "tram", "two"))
	r.must(members("tram", 4, "-bob", "-bob"))
	r.must(members("tram", 5))
	r.wantInbox("ann", "tram +1", "tram 1", "tram 2")
	r.wantInbox("bob", "tram +1", "tram 1", "tram 2", "tram -2")
	r.wantInbox("cid", "tram +2", "tram 2")
	r.wantInbox("dan")
	r.wantInbox("eve")
}

// S12: a version is used once, and a refused command uses none.
func testMemberVersions(r *rig) {
	r.refused(members("tram", 0, "ann"), store.StaleVersion)
	r.refused(r.group("ann", "tram", "is there a tram?"), store.NoSuchGroup)
	r.must(members("tram", 5, "ann"))
	r.refused(members("tram", 5, "bob"), store.StaleVersion)
	r.refused(members("tram", 4, "-ann"), store.StaleVersion)
	r.must(members("tram", 6))
	r.refused(members("tram", 6, "bob"), store.StaleVersion)
	r.must(members("tram", 1<<40, "bob"))
	r.must(members("bus", 1, "bob"))
	r.wantInbox("ann", "tram +1")
	r.wantInbox("bob", "tram +1", "bus +1")
}

// S12: 2,000 are a group, 2,001 are not.
func testTooManyMembers(r *rig) {
	crowd := names("user", store.MaxMembers)
	r.refused(members("stadium", 1, append(slices.Clone(crowd), "ann")...), store.TooManyMembers)
	r.refused(r.group("ann", "stadium", "is there a stadium?"), store.NoSuchGroup)
	r.must(members("stadium", 1, crowd...))
	r.settle()
	r.refused(members("stadium", 2, "ann"), store.TooManyMembers)
	r.refused(members("stadium", 1, "ann"), store.StaleVersion)
	r.must(members("stadium", 2, "ann", "-"+crowd[0]))
	r.settle()
	r.wantInbox("ann", "stadium +1")
	r.wantInbox(crowd[0], "stadium +1", "stadium -0")
}

// S4, S9: only members write, to all members.
func testWhoMaySend(r *rig) {
	r.refused(r.group("ann", "tram", "nobody there"), store.NoSuchGroup)
	r.must(members("tram", 1, "ann", "bob"))
	r.refused(r.group("cid", "tram", "not me"), store.NotMember)
	r.must(r.group("ann", "tram", "me"))
	r.must(members("tram", 2, "-ann", "cid"))
	r.refused(r.group("ann", "tram", "not me any more"), store.NotMember)
	r.must(r.group("cid", "tram", "but me"))
	r.must(members("tram", 3, "-bob", "-cid"))
	r.refused(r.group("bob", "tram", "nobody left"), store.NotMember)
	r.wantInbox("bob", "tram +1", "tram 1", "tram 2", "tram -2")
}

// names makes n ids.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%04d", prefix, i)
	}
	return all
}
