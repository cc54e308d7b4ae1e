//go:build unix && !linux

package backend

// adviseHuge does nothing: the system chooses the size of pages.
func adviseHuge([]byte) {}
