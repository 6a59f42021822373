package config

import (
	"reflect"
	"slices"
)

// A Change says which settings a reload found changed, by their paths and in the order of Config.
type Change struct {
	Taken []string // in force after the reload
	Kept  []string // as they were: they need a restart
}

// Reload loads the configuration again for a server that runs with running, which Load returned. Settings that need a
// restart stay as they are. The error is that of Load.
func Reload(src Sources, running Config) (Config, Change, error) {
	c, _, err := load(src)
	if err != nil {
		return Config{}, Change{}, err
	}
	var change Change
	keep("", reflect.ValueOf(&c).Elem(), reflect.ValueOf(&running).Elem(), &change)
	c.fillTexts() // they depend on settings that stay
	change.Taken = differences(reflect.ValueOf(&running).Elem(), reflect.ValueOf(&c).Elem())
	return c, change, nil
}

// keep gives the fields of next that need a restart the values of running.
func keep(path string, next, running reflect.Value, change *Change) {
	for i := range next.NumField() {
		field, at := next.Type().Field(i), join(path, next.Type().Field(i).Tag.Get("yaml"))
		switch {
		case field.Tag.Get("restart") != "":
			if !reflect.DeepEqual(next.Field(i).Interface(), running.Field(i).Interface()) {
				change.Kept = append(change.Kept, at)
			}
			next.Field(i).Set(running.Field(i))
		case field.Type.Kind() == reflect.Struct:
			keep(at, next.Field(i), running.Field(i), change)
		}
	}
}

// differences returns the paths of the settings that a and b do not have alike: those of a first, then those of b.
func differences(a, b reflect.Value) (paths []string) {
	texts := func(v reflect.Value) (order []string, m map[string]string) {
		m = map[string]string{}
		values("", v, func(path, value string) { order, m[path] = append(order, path), value })
		return order, m
	}
	orderA, inA := texts(a)
	orderB, inB := texts(b)
	for _, path := range append(orderA, orderB...) {
		before, had := inA[path]
		now, has := inB[path]
		if (before != now || had != has) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}
