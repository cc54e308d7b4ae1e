package op

var quantRows = []Row{}
