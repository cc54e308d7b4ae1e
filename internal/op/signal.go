package op

var signalRows = []Row{}
