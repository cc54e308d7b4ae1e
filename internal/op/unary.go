package op

var unaryRows = []Row{}
