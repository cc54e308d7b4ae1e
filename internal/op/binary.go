package op

var binaryRows = []Row{}
