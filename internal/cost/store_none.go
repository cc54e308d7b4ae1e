//go:build !unix && !windows

package cost

import (
	"errors"
	"fmt"
)

// viewStore has nothing to read: the store needs file locks and mapped files.
func viewStore(path, _ string, _ func(key, value []byte) error) error {
	return fmt.Errorf("cost: store %q: on this system: %w", path, errors.ErrUnsupported)
}

func updateStore(path, _ string, _ *Samples) error {
	return fmt.Errorf("cost: store %q: on this system: %w", path, errors.ErrUnsupported)
}
