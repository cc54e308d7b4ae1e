package op

var castRows = []Row{}
