package route_test

import (
	"testing"
	"time"

	"lifeline/server/route"
	"lifeline/server/route/routetest"
)

type memoryWorld struct{ *route.Memory }

func (w memoryWorld) Open(tb testing.TB, self route.Self, now func() time.Time) route.Table {
	return w.Memory.Table(self, now)
}
func (w memoryWorld) Flush(testing.TB) { w.Memory.Flush() }

func TestMemory(t *testing.T) {
	routetest.Run(t, routetest.Harness{World: func(testing.TB) routetest.World {
		return memoryWorld{route.NewMemory(nil)}
	}})
}
