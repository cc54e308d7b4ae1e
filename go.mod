module github.com/stowage-ml/stowage

go 1.26
