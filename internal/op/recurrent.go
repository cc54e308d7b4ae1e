package op

var recurrentRows = []Row{}
