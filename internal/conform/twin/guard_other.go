//go:build !unix

package twin

import "testing"

// guarded returns n bytes.
func guarded(_ testing.TB, n int, _ bool) []byte { return make([]byte, n) }
