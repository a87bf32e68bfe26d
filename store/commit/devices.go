package commit

import "lifeline/store"

// Devices lists the devices of a user whose cursor is stored, by device.
func (s *Store) Devices(user string) (list []store.Device, err error) {
	if !store.ValidID(user) {
		return nil, nil
	}
	p := partitionOf(user)
	lower := appendOwned(nil, p, spaceUser, user, tableCursor)
	upper := appendOwned(nil, p, spaceUser, user, tableCursor+1)
	var failed error
	err = s.engine.Scan(lower, upper, func(key, value []byte) bool {
		var c cursor
		failed = keyError(key, c.parse(value))
		list = append(list, store.Device{Device: string(key[len(lower):]), Platform: c.platform, Cursor: c.pos, Seen: c.seen})
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return list, err
}
