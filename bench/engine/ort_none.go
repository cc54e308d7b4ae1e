//go:build !cgo

package engine

import (
	"errors"

	"github.com/stowage-ml/stowage/tensor"
)

var errNoCgo = errors.New("ONNX Runtime: got a build without cgo, want a C compiler (apt-get install gcc libc6-dev)")

func openORT(*Spec, []*tensor.Tensor, Setup) (Engine, error) { return nil, errNoCgo }

// OpenVerbose is not there in this build.
func OpenVerbose(*Spec) (Engine, error) { return nil, errNoCgo }
