package storetest

import (
	"testing"
	"testing/synctest"
)

func testNamed(t *testing.T, name string) test {
	t.Helper()
	for _, test := range tests {
		if test.name == name {
			return test
		}
	}
	t.Fatalf("the suite has no test %q", name)
	return test{}
}

// Every lie is found out, by the test that is meant to.
func TestLiesAreFoundOut(t *testing.T) {
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faults := examine(t, testNamed(t, lie.caughtBy), lie.harness())
				if len(faults) == 0 {
					t.Fatalf("%s does not find out a store that %s", lie.caughtBy, lie.name)
				}
				t.Logf("found: %.300s", faults[0])
			})
		})
	}
}

// Every test of the suite passes for a store that is right, and each finds out some lie.
func TestHonestStorePasses(t *testing.T) {
	h := honest
	h.Model = &honest
	finds := map[string]bool{}
	for _, lie := range lies {
		finds[lie.caughtBy] = true
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, fault := range examine(t, test, h) {
					t.Error(fault)
				}
			})
			if !finds[test.name] {
				t.Errorf("%s finds out no lie", test.name)
			}
		})
	}
}
