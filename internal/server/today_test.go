package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestArraysAreQueryParametersOfWhatTheyContain(t *testing.T) {
	t.Parallel()
	a := arrays(t)
	for query, want := range map[string]string{"merker=havn": "a b c", "merker=fjord": "c", "merker=ingen": "",
		"tall=2": "a e", "tall=2.5": "b", "merker=havn&navn=Bø": "c"} {
		if got := strings.Join(a.get("/collections/steder/items?"+query).wants(200).page().ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	a.get("/collections/steder/items?tall=to").wants(400)
	a.get("/collections/steder/items?objekt=x").wants(400)
	if doc := string(a.get("/openapi").wants(200).Body); !strings.Contains(doc, "whose list merker contains this") ||
		strings.Contains(doc, `"name":"objekt"`) {
		t.Error("the definition does not have the arrays as parameters")
	}
}

func TestBoxesBeyondTheWorldAreCutOff(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, want := range map[string]int{"bbox=-200.2,-84.3,221.6,88.6": 357,
		"bbox=10.74,59.98,10.74,595": a.get("/collections/kommuner/items?bbox=10.74,59.98,10.74,90").wants(
			200).page().NumberMatched} {
		if got := a.get("/collections/kommuner/items?" + query).wants(200).page().NumberMatched; got != want ||
			want == 0 {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	a.get("/collections/kommuner/items?bbox=200,59,220,60").wants(400)
}

// TestProjectedAnswersNameTheirSystem: GDAL and front ends read the member crs; degrees have none.
func TestProjectedAnswersNameTheirSystem(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/collections/kommuner/items?limit=2&", "/collections/kommuner/items/0301?"} {
		crs := func(query string) any { return a.get(path + query).wants(200).json()["crs"] }
		got, _ := json.Marshal(crs("crs=http://www.opengis.net/def/crs/EPSG/0/25833"))
		if string(got) != `{"properties":{"name":"urn:ogc:def:crs:EPSG::25833"},"type":"name"}` {
			t.Errorf("%s: crs is %s", path, got)
		}
		for _, q := range []string{"", "crs=http://www.opengis.net/def/crs/EPSG/0/4258"} {
			if x := crs(q); x != nil {
				t.Errorf("%s%s: crs is %v, want none", path, q, x)
			}
		}
	}
}

func TestHEADHasTheLengthOfGET(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/collections/kommuner/items?limit=20", "/collections/kommuner/items?f=csv",
		"/collections/kommuner/items?f=jsonld&limit=3", "/collections/kommuner/items?f=html&limit=3",
		"/collections/kommuner/items/0301", "/collections/kommuner/items/0301?f=html", "/collections/kommuner", "/"} {
		if strings.Contains(path, "f=html") {
			a.settled(path) // maps change once tile levels are built
		}
		get, head := a.get(path, "Accept-Encoding", "identity").wants(200),
			a.do("HEAD", path, "Accept-Encoding", "identity").wants(200)
		if n := head.Header.Get("Content-Length"); n != strconv.Itoa(len(get.Body)) || len(head.Body) > 0 {
			t.Errorf("%s: HEAD says %q and sends %d bytes, GET has %d", path, n, len(head.Body), len(get.Body))
		}
	}
}

func TestPreflightAllowsSOAPAction(t *testing.T) {
	t.Parallel()
	r := serve(t, "", nil).do("OPTIONS", "/soap/stedsnavn/v1/SoekServiceWS", "Origin", "https://example.org",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "soapaction,content-type")
	if r.Header.Get("Access-Control-Allow-Headers") != "soapaction,content-type" {
		t.Errorf("%v", r.Header)
	}
}

func TestLinksToCSVHaveItsPlainType(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/collections/kommuner", "/collections", "/collections/kommuner/items?f=csv&limit=1",
		"/collections/kommuner/items?limit=1"} {
		r := a.get(path).wants(200)
		if text := string(r.Body) + r.Header.Get("Link"); strings.Contains(text, `csv; charset`) ||
			strings.Contains(text, `csv;charset`) {
			t.Errorf("%s: a link to CSV has a type with a charset", path)
		}
	}
}

// TestJSONLDOfACollectionIsThatOfItsFeatures: each node of the list equals the document of its feature.
func TestJSONLDOfACollectionIsThatOfItsFeatures(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	list := a.get("/collections/kommuner/items?f=jsonld&limit=2").wants(200).json()
	nodes := list["itemListElement"].([]any)
	for _, n := range nodes {
		node := n.(map[string]any)
		one := a.get("/collections/kommuner/items/" + node["identifier"].(string) + "?f=jsonld").wants(200).json()
		context, _ := json.Marshal(one["@context"])
		whole, _ := json.Marshal(list["@context"])
		delete(one, "@context")
		want, _ := json.Marshal(one)
		if got, _ := json.Marshal(node); !bytes.Equal(got, want) || !bytes.Equal(context, whole) {
			t.Errorf("the list has\n%.300s, the feature\n%.300s", got, want)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("%d nodes", len(nodes))
	}
}

// TestClientThatHangsUpIsNoError: a client disconnects in the middle of a large response.
func TestClientThatHangsUpIsNoError(t *testing.T) {
	t.Parallel()
	a, _ := serveSwollen(t, func(string) int { return 20000 }, nil)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", a.URL+"/collections/kommuner/items?limit=357", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	cancel()
	res.Body.Close()
	a.Close() // waits for the handler
	if log := a.logs.String(); strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "limit=357") {
		t.Errorf("logged: %s", log)
	}
}
