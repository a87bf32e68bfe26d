package memstore_test

import (
	"testing"

	"lifeline/store/storetest"
)

func TestConformance(t *testing.T) { storetest.Run(t, storetest.Model) }
