module github.com/stowage-ml/stowage/tools

go 1.26.0

require github.com/stowage-ml/stowage v0.0.0

require google.golang.org/protobuf v1.36.12 // indirect

replace github.com/stowage-ml/stowage => ../
