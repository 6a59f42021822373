package cql2

// Function describes a function of filters other than those of the standard's own classes (OGC 21-065r2, 7.12).
type Function struct {
	Name    string // in lower case; calls may be in any case
	Args    []Type
	Returns Type
}

// Functions lists the functions, by name. Null in any argument gives null. TypeNumber as an argument takes integers
// too, TypeTimestamp takes dates.
var Functions = []Function{
	{"abs", []Type{TypeNumber}, TypeNumber},
	{"ceil", []Type{TypeNumber}, TypeNumber},
	{"day", []Type{TypeTimestamp}, TypeInteger},
	{"floor", []Type{TypeNumber}, TypeNumber},
	{"left", []Type{TypeText, TypeInteger}, TypeText},
	{"length", []Type{TypeText}, TypeInteger},
	{"month", []Type{TypeTimestamp}, TypeInteger},
	{"year", []Type{TypeTimestamp}, TypeInteger},
}

// textFunctions fold a text. Clients cannot write the last two.
var textFunctions = []Function{
	{"casei", []Type{TypeText}, TypeText},
	{"accenti", []Type{TypeText}, TypeText},
	{"norm", []Type{TypeText}, TypeText},
	{"exact", []Type{TypeText}, TypeText},
}

// findFunction returns the description of a function; nil when there is none.
func findFunction(name string) *Function {
	for _, list := range [...][]Function{Functions, textFunctions} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
