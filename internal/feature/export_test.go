package feature

// The smallest pieces, for tests of their own.
var (
	AppendFixed  = appendFixed
	AppendFloat  = appendFloat
	AppendString = appendString
)
