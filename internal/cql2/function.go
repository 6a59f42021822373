package cql2

// Function describes a function that a filter may call besides those of the standard's own classes (OGC 21-065r2, 7.12).
type Function struct {
	Name        string // in lower case; calls may be in any case
	Description string
	Args        []Type
	Returns     Type
}

// Functions lists the functions, by name. Null in any argument gives null. TypeNumber as an argument takes integers too, TypeTimestamp
// takes dates.
var Functions = []Function{
	{"abs", "The absolute value of a number", []Type{TypeNumber}, TypeNumber},
	{"ceil", "The least whole number that is not below a number", []Type{TypeNumber}, TypeNumber},
	{"day", "The day of the month of a date or timestamp in UTC, 1 to 31", []Type{TypeTimestamp}, TypeInteger},
	{"floor", "The greatest whole number that is not above a number", []Type{TypeNumber}, TypeNumber},
	{"left", "The first characters of a text; the second argument, at least 0, is their number", []Type{TypeText, TypeInteger}, TypeText},
	{"length", "The number of characters of a text", []Type{TypeText}, TypeInteger},
	{"month", "The month of a date or timestamp in UTC, 1 to 12", []Type{TypeTimestamp}, TypeInteger},
	{"year", "The year of a date or timestamp in UTC", []Type{TypeTimestamp}, TypeInteger},
}

// textFunctions fold a text. The last two are ours and cannot be written by a client.
var textFunctions = []Function{
	{"casei", "", []Type{TypeText}, TypeText},
	{"accenti", "", []Type{TypeText}, TypeText},
	{"norm", "", []Type{TypeText}, TypeText},
	{"exact", "", []Type{TypeText}, TypeText},
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
