package ref

import "github.com/stowage-ml/stowage/internal/op"

var fusedKernels = []entry{{domain: op.Domain, op: op.Fused, body: true}}
