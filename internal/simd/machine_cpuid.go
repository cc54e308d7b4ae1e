//go:build (amd64 || arm64) && !noasm

package simd

import (
	"fmt"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

func processor() string {
	c := &cpuid.CPU
	return fmt.Sprintf("%s, family %d model %d stepping %d: %s", strings.TrimSpace(c.BrandName), c.Family, c.Model,
		c.Stepping, strings.Join(c.FeatureSet(), " "))
}
