module github.com/stowage-ml/stowage

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/klauspost/cpuid/v2 v2.4.2
	golang.org/x/term v0.48.0
	google.golang.org/protobuf v1.36.12
)

require github.com/ebitengine/purego v0.11.3

require (
	go.etcd.io/bbolt v1.5.0
	golang.org/x/sys v0.50.0 // indirect
)
