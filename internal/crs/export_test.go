package crs

// Known lists every system of this package, those of Served first. Collections that are stored in one are served, also in it.
func Known() []ID { return ids(systems) }
