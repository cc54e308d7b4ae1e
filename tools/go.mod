module github.com/stowage-ml/stowage/tools

go 1.26.0

require github.com/stowage-ml/stowage v0.0.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/stowage-ml/stowage => ../
