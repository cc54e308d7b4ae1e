module github.com/stowage-ml/stowage

go 1.26

require (
	github.com/alecthomas/kong v1.17.0
	github.com/schollz/progressbar/v3 v3.19.1
	golang.org/x/term v0.48.0
	google.golang.org/protobuf v1.36.12
)
