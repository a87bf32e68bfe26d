package memstore_test

import (
	"testing"

	"lifeline/store"
	"lifeline/store/memstore"
	"lifeline/store/storetest"
)

// A test can have the model refuse what only a real store has cause to, in the order of S4.
func TestRefusalsThatAreAskedFor(t *testing.T) {
	full, overdue := false, ""
	s := memstore.New(memstore.Options{
		Full:    func() bool { return full },
		Overdue: func(group string) bool { return group == overdue },
	})
	defer s.Close()
	toGroup := func(sender, group, client string) *store.Send {
		return &store.Send{Sender: sender, SenderDevice: "phone", ToGroup: group, ClientID: []byte(client)}
	}
	step := func(what string, c store.Command, want store.Refusal) {
		t.Helper()
		if a := storetest.Call(s, c); a.Refusal != want {
			t.Errorf("%s: %v, want %v", what, a.Refusal, want)
		}
	}
	step("a group", &store.Members{Group: "tram", Version: 1, Add: []string{"ann"}}, store.None)
	step("another", &store.Members{Group: "bus", Version: 1, Add: []string{"ann"}}, store.None)
	step("a send", toGroup("ann", "tram", "1"), store.None)

	overdue = "tram"
	step("a send to what is overdue", toGroup("ann", "tram", "2"), store.Overdue)
	step("a known client id", toGroup("ann", "tram", "1"), store.None)
	step("no member", toGroup("bob", "tram", "3"), store.NotMember)
	step("a send to the other", toGroup("ann", "bus", "4"), store.None)
	step("a direct send", hello("5", nil), store.None)
	step("a change", &store.Members{Group: "tram", Version: 2}, store.Overdue)
	step("an old change", &store.Members{Group: "tram", Version: 1}, store.StaleVersion)

	full = true
	step("a send to a full disk", hello("6", nil), store.StorageFull)
	step("a change on a full disk", &store.Members{Group: "bus", Version: 2}, store.StorageFull)
	step("a logout", &store.Forget{User: "ann", Device: "phone"}, store.None)
	full, overdue = false, ""
	step("a send refused before", toGroup("ann", "tram", "2"), store.None)
	step("a change refused before", &store.Members{Group: "tram", Version: 2}, store.None)
	if start, err := s.Start("ann", "phone"); err != nil || start.Head != 6 {
		t.Errorf("%+v, %v: want two groups and four messages", start, err)
	}
}
