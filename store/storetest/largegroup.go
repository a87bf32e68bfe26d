package storetest

import (
	"fmt"
	"slices"
	"strings"

	"lifeline/store"
)

var largeGroupTests = []test{
	{name: "LargeGroupLikeSmall", run: testLargeGroupLikeSmall},
	{name: "LargeGroupShrinks", run: testLargeGroupShrinks},
	{name: "LargeGroupBesideOthers", run: testLargeGroupBesideOthers},
}

// plot is what happens in a group while its entries may still be owed.
func plot(r *rig, group string, crowd []string) []store.Command {
	first, last := crowd[0], crowd[len(crowd)-1]
	return []store.Command{
		r.group("ann", group, "one"),
		r.group(last, group, "two"),
		members(group, 2, "-bob", "-"+first, "cid"),
		r.group("ann", group, "three"),
		members(group, 3, "bob", "-cid", "-"+last),
		r.group("bob", group, "four"),
		members(group, 4, "-ann", first),
		r.group(first, group, "five"),
	}
}

// S10, S13: with 2,000 members, whose entries may come in chunks, the same happens as with a dozen.
func testLargeGroupLikeSmall(r *rig) {
	crowd := names("user", store.MaxMembers-3)
	few := slices.Concat(crowd[:5], crowd[len(crowd)-5:])
	groups := map[string][]string{"stadium": crowd, "room": few}
	var answers []<-chan store.Answer
	for group, users := range groups {
		answers = append(answers, r.submit(members(group, 1, append([]string{"ann", "bob"}, users...)...)))
		for _, c := range plot(r, group, users) {
			answers = append(answers, r.submit(c))
		}
	}
	for _, answer := range answers {
		if a := await(r, answer); a.Refusal != store.None {
			r.Fatalf("a command was refused: %v", a.Refusal)
		}
	}
	r.settle()
	for _, user := range append([]string{"ann", "bob", "cid"}, few...) {
		large, small := r.tale(user, "stadium"), r.tale(user, "room")
		if !slices.Equal(large, small) || len(large) == 0 {
			r.Errorf("%s in a large group: %q, in a small one: %q", user, large, small)
		}
	}
}

// tale is the part of an inbox that concerns one group, without its name.
func (r *rig) tale(user, group string) []string {
	r.Helper()
	var tale []string
	for _, line := range r.inbox(user) {
		if entry, ok := strings.CutPrefix(line, group+" "); ok {
			tale = append(tale, entry)
		}
	}
	return tale
}

// S10: a group that has become small keeps its order behind what it still owes.
func testLargeGroupShrinks(r *rig) {
	crowd := names("user", store.MaxMembers-1)
	r.must(members("stadium", 1, append([]string{"ann"}, crowd...)...))
	r.must(r.group("ann", "stadium", "go home"))
	away := &store.Members{Group: "stadium", Version: 2, Remove: crowd[1:]}
	r.must(away)
	r.must(r.group(crowd[0], "stadium", "who is left?"))
	r.settle()
	r.wantInbox("ann", "stadium +1", "stadium 1", "stadium 2")
	r.wantInbox(crowd[0], "stadium +1", "stadium 1", "stadium 2")
	r.wantInbox(crowd[1], "stadium +1", "stadium 1", "stadium -1")
	r.wantInbox(crowd[len(crowd)-1], "stadium +1", "stadium 1", "stadium -1")
}

// S7: positions stay whole when a large group and direct messages fill the same inboxes.
func testLargeGroupBesideOthers(r *rig) {
	const rounds = 5
	crowd := names("user", store.MaxMembers)
	r.must(members("stadium", 1, crowd...))
	var answers []<-chan store.Answer
	for i := range rounds {
		answers = append(answers, r.submit(r.group(crowd[i], "stadium", "to all")))
		for n := range 20 {
			answers = append(answers, r.submit(r.direct(crowd[n], crowd[(n*97+i)%len(crowd)], fmt.Sprint(n))))
		}
	}
	for _, answer := range answers {
		if a := await(r, answer); a.Refusal != store.None {
			r.Fatalf("a command was refused: %v", a.Refusal)
		}
	}
	r.settle()
	for _, user := range []string{crowd[0], crowd[999], crowd[1999]} {
		if tale := r.tale(user, "stadium"); !slices.Equal(tale, []string{"+1", "1", "2", "3", "4", "5"}) {
			r.Errorf("%s got %q", user, tale)
		}
	}
}
