package op

var poolRows = []Row{}
