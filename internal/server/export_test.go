package server

// IndentXML is indentXML.
var IndentXML = indentXML
