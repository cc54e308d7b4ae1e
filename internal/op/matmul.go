package op

var matmulRows = []Row{}
