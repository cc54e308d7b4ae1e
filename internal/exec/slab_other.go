//go:build !unix

package exec

// mapSlab reserves n zero bytes of the Go heap.
func mapSlab(n int64) ([]byte, error) { return alloc(n), nil }

func unmapSlab([]byte) error { return nil }
