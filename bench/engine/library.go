package engine

import (
	"fmt"
	"os"
	"path/filepath"
)

// LibraryEnv names the environment variable that says where ONNX Runtime's shared library is.
const LibraryEnv = "STOWAGE_ORT_LIB"

// Version is the release of ONNX Runtime that is compared with.
const Version = "1.30.0"

// Library returns the path of the shared library: that of the environment, or what
// scripts/fetch-ort.sh puts into the user's cache folder.
func Library() (string, error) {
	path := os.Getenv(LibraryEnv)
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		path = filepath.Join(cache, "stowage", "onnxruntime-"+Version, "libonnxruntime.so.1")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("ONNX Runtime: %w; run scripts/fetch-ort.sh, or set %s", err, LibraryEnv)
	}
	return path, nil
}

// Setup is how a session of ONNX Runtime is opened. Everything else is as it is by default, but
// that waiting threads stop spinning at the end of a run, so that they do not take time from what
// is measured next.
type Setup struct {
	Threads int
	// Verbose prints what the memory arena does to standard error, without the weights.
	Verbose bool
}
