package internal_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// Functions have at most so many lines and parameters; exceptions say why.
const (
	maxLines      = 60
	maxParameters = 4
)

// long and wide are the exceptions, by package and function (Type.Method), with their reasons.
var long = map[string]string{
	"api/placename searchAndHitTypes":   "a table: the contract's types, one line an element",
	"api/placename schemas":             "a table: the contract's schemas",
	"internal/server Server.table":      "a table: the routes, one line each",
	"internal/store/storetest cases":    "a table: one line a case",
	"internal/crs ID.PROJJSON":          "one JSON document, in the order of its members",
	"internal/cql2 textPrinter.expr":    "a switch with one case a node",
	"internal/cql2/cql2test appendJSON": "a switch with one case a node",
}

var wide = map[string]string{
	"internal/crs newAzimuthal":          parametersOfProjection,
	"internal/crs newConic":              parametersOfProjection,
	"internal/crs newTransverseMercator": parametersOfProjection,
	"internal/crs transverse":            parametersOfProjection,
	"internal/crs zone":                  parametersOfProjection,
	"internal/crs lambert":               parametersOfProjection,
	"internal/crs azimuthalSystem":       parametersOfProjection,

	"internal/store/gpkg Store.Fetch":        fetch,
	"internal/store/gpkg snapshot.Fetch":     fetch,
	"internal/store/gpkg held.Fetch":         fetch,
	"internal/store/postgis Store.Fetch":     fetch,
	"internal/store/postgis snapshot.Fetch":  fetch,
	"internal/server fairStore.Fetch":        fetch,
	"internal/server fairSnapshot.Fetch":     fetch,
	"internal/server turnSnapshot.Fetch":     fetch,
	"internal/process joined.Fetch":          fetch,
	"internal/server simpleSnapshot.Fetch":   fetch,
	"internal/source withPast.Fetch":         fetch,
	"internal/source snapshotWithPast.Fetch": fetch,

	"internal/placename enhet":                 row,
	"internal/placename criteria.sak":          row,
	"internal/register relation":               row,
	"internal/register recorder.skrivemaate":   row,
	"internal/register recorder.document":      row,
	"internal/register generator.status":       row,
	"internal/register generator.remarks":      row,
	"internal/register/official builder.unit":  row,
	"internal/register/official codeBook.code": row,
	"internal/draw drawing.degrees":            coordinates,
	"internal/ingest meeting":                  coordinates,
	"internal/tile Layer.Polygons":             coordinates,
	"internal/store/storetest spatialCases":    coordinates,
	"internal/arc Clipper.Feature":             "a buffer to append to, a tile and what of it",
	"internal/store/gpkg appendBlob":           "a buffer to append to, and the parts of the header",
	"internal/store/gpkg question.read":        stretch,
	"internal/store/gpkg Store.loadFrom":       "a connection, and where it is to",
	"internal/store/postgis each":              "a context, a connection, a statement with arguments, and what is called with its rows",
	"internal/store/postgis itemsOf":           "a context, a connection, and what is read of a column",
	"internal/store/postgis draft.measure":     "a context, a connection, and what is read of a column",
	"internal/cql2 boundsOf":                   "a recursion that hands its state down",
	"internal/cql2 topology.descend":           "a recursion that hands its state down",
	"internal/ingest geoReader.member":         "a recursion that hands its state down",
	"internal/ingest shapeReader.ended":        "what three files that are read in step have come to",
	"internal/placename find":                  "a context, a store, a question, and the batch of hits",
	"internal/soap Service.logFault":           "the members of a line of the log",
	"api/placename port":                       "the attributes of a WSDL port",
}

// Reasons that several functions have.
const (
	parametersOfProjection = "the parameters of a projection, in the order of EPSG Guidance Note 7-2"
	fetch                  = "store.Store declares it"
	row                    = "columns of a row, or a place in the register"
	coordinates            = "coordinates"
	stretch                = "a part of the order: from where, how much, in which direction"
)

func TestFunctionsAreShort(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		dir := path[:strings.LastIndexByte(path, '/')]
		inside := ""
		ast.Inspect(f, func(n ast.Node) bool {
			var typ *ast.FuncType
			switch n := n.(type) {
			case *ast.FuncDecl:
				typ, inside = n.Type, dir+" "+nameOf(n)
				if lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1; lines > maxLines {
					found["long "+inside] = true
					if long[inside] == "" {
						t.Errorf("%s: %s has %d lines, more than %d", path, inside, lines, maxLines)
					}
				}
			case *ast.FuncLit:
				typ = n.Type
			default:
				return true
			}
			if params := typ.Params.NumFields(); params > maxParameters {
				found["wide "+inside] = true
				if wide[inside] == "" {
					t.Errorf("%s: %s has %d parameters, more than %d", path, inside, params, maxParameters)
				}
			}
			return true
		})
	})
	for name := range long {
		if !found["long "+name] {
			t.Errorf("%s is an exception, but not long", name)
		}
	}
	for name := range wide {
		if !found["wide "+name] {
			t.Errorf("%s is an exception, but has few parameters", name)
		}
	}
}

// nameOf is the name of a function, with its type before that of a method.
func nameOf(n *ast.FuncDecl) string {
	if n.Recv == nil {
		return n.Name.Name
	}
	x := n.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name + "." + n.Name.Name
		default:
			return n.Name.Name
		}
	}
}
