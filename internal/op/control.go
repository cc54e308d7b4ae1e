package op

var controlRows = []Row{}
