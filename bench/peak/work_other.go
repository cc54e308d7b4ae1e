//go:build !amd64 || noasm

package peak

func work(int) float64 { return 0 }
