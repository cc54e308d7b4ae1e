package op

var lossRows = []Row{}
