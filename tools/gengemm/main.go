// Command gengemm writes the assembly of internal/simd/gemm and internal/simd/octet: the unrolled
// tiles of matrix products for AVX2 and AVX-512. It takes the folder internal/simd.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gengemm DIR")
		os.Exit(2)
	}
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gengemm:", err)
			os.Exit(1)
		}
	}
}

// files returns the contents of every file that is generated, by name.
func files() map[string]string {
	return map[string]string{
		"gemm/tile_avx2_amd64.s": source(avx2), "gemm/tile_avx512_amd64.s": source(avx512),
		"gemm/tile_neon_arm64.s":  neonSource(),
		"octet/tile_avx2_amd64.s": octets(avx2), "octet/tile_avx512_amd64.s": octets(avx512),
	}
}
