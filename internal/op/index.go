package op

var indexRows = []Row{}
