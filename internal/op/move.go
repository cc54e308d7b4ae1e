package op

var moveRows = []Row{}
