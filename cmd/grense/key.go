package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"grense/internal/apikey"
	"grense/internal/datadir"
	"grense/internal/state"
	"grense/internal/store"
)

type keyCmd struct {
	Create   keyCreateCmd   `cmd:"" help:"Create a key and print it once."`
	List     keyListCmd     `cmd:"" help:"List the keys by their ids."`
	Rotate   keyRotateCmd   `cmd:"" help:"Create a key in place of another one, which stays valid for a while."`
	Revoke   keyRevokeCmd   `cmd:"" help:"Revoke a key for good."`
	Usage    keyUsageCmd    `cmd:"" help:"Print the use of keys by day."`
	Generate keyGenerateCmd `cmd:"" help:"Print a new key without storing it."`
	Export   keyExportCmd   `cmd:"" help:"Print all keys as JSON, by their hashes, for import elsewhere."`
	Import   keyImportCmd   `cmd:"" help:"Add the keys that export printed."`
}

// Help returns the details of grense key --help.
func (keyCmd) Help() string {
	return `Running servers with the same data directory, or the same database, see a change within 5 seconds. To replace a
key without an interruption, use grense key rotate.

Examples:
  grense key create --name "Map on the front page" --expires 90d
  grense key rotate 4fZk01Qd --overlap 14d`
}

func openStateIn(ctx context.Context, dir string) (*state.DB, error) {
	st, err := state.Open(ctx, filepath.Join(dir, datadir.StateFile))
	if err != nil {
		return nil, datadir.Denied(fmt.Errorf("cannot open the keys in %s: %w", dir, err),
			filepath.Join(dir, datadir.StateFile))
	}
	return st, nil
}

type keyCreateCmd struct {
	Name    string `required:"" placeholder:"NAME" help:"Who or what will use the key."`
	Expires string `placeholder:"WHEN" help:"A day, 2027-01-01 (UTC), or a number of days, 90d. Default: never."`
	JSON    bool   `name:"json" help:"Print an object with key, id, name and times instead of the key alone."`
	termsFlags
	keyFlags
}

// termsFlags are what a new key may be used for.
type termsFlags struct {
	Scope  []string `placeholder:"SCOPE" help:"What the key may read: collections, collections/ID, tiles, tiles/ID, processes, soap; several by commas. Default: everything."`
	Origin []string `placeholder:"URL" help:"Web pages that may use the key, by scheme and host, https://example.org; several by commas. Default: all, and other programs."`
	Rate   int      `placeholder:"N" help:"Units that the key may use in a second, instead of limits.rate."`
	Quota  int64    `placeholder:"N" help:"Units that the key may use in a day (UTC). Default: no quota."`
	Note   string   `placeholder:"TEXT" help:"A note for operators, such as whom to ask."`
}

// terms returns what the flags say.
func (f termsFlags) terms() (t state.Terms, err error) {
	t = state.Terms{Note: strings.TrimSpace(f.Note), Rate: f.Rate, Quota: f.Quota}
	if t.Scopes, err = apikey.ParseScopes(f.Scope); err != nil {
		return t, err
	}
	if t.Origins, err = apikey.ParseOrigins(f.Origin); err != nil {
		return t, err
	}
	return t, apikey.CheckTerms(t)
}

func (keyCreateCmd) Help() string {
	return `Standard output gets the key and nothing else. Only its hash is stored. Browsers state the origin of a page; other programs may state any.

Examples:
  grense key create --name "Summer project" --expires 90d --quota 100000 > key.txt
  grense key create --name "Map on the front page" --scope tiles,collections/kommuner --origin https://example.org`
}

func (c *keyCreateCmd) Run(ctx context.Context, p *process) error {
	now := time.Now()
	expires, err := apikey.ParseExpiry(c.Expires, now)
	if err != nil {
		return err
	}
	key, rec, err := apikey.New(c.Name, expires, now)
	if err != nil {
		return err
	}
	if rec.Terms, err = c.terms(); err != nil {
		return err
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.PutKey(ctx, rec); err != nil {
		return fmt.Errorf("cannot store the key: %w", err)
	}
	return p.printKey(key, rec, c.JSON)
}

// printKey prints a new key. It is not stored and cannot be shown again.
func (p *process) printKey(key string, rec state.Key, asJSON bool) error {
	if asJSON {
		o := keyObjectOf(rec)
		o.Key = key
		return p.printJSON(o)
	}
	fmt.Fprintf(p.Stderr, "Key %s for %s. It is shown only now; send it in the header X-API-Key.\n", rec.ID, rec.Name)
	_, err := fmt.Fprintln(p.Stdout, key)
	return err
}

// keyObject is the JSON form of a key.
type keyObject struct {
	Key      string     `json:"key,omitempty"` // only for create and rotate
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Status   string     `json:"status,omitempty"` // not for export
	Created  time.Time  `json:"created"`
	LastUsed *time.Time `json:"last_used,omitempty"` // start of a day
	Expires  *time.Time `json:"expires,omitempty"`
	Revoked  *time.Time `json:"revoked,omitempty"`
	Hash     string     `json:"sha256,omitempty"` // hexadecimal; only for export
	Note     string     `json:"note,omitempty"`
	Scopes   []string   `json:"scopes,omitempty"`
	Origins  []string   `json:"origins,omitempty"`
	Rate     int        `json:"rate,omitempty"`  // units a second
	Quota    int64      `json:"quota,omitempty"` // units a day
}

func keyObjectOf(k state.Key) keyObject {
	o := keyObject{ID: k.ID, Name: k.Name, Status: apikey.Status(k, time.Now()), Created: k.Created.UTC(),
		Note: k.Note, Scopes: strings.Fields(k.Scopes), Origins: strings.Fields(k.Origins), Rate: k.Rate,
		Quota: k.Quota}
	for to, t := range map[**time.Time]time.Time{&o.LastUsed: k.LastUsed, &o.Expires: k.Expires,
		&o.Revoked: k.Revoked} {
		if !t.IsZero() {
			utc := t.UTC()
			*to = &utc
		}
	}
	return o
}

// record converts an exported key to a stored one.
func (o keyObject) record() (k state.Key, err error) {
	hash, err := hex.DecodeString(o.Hash)
	if err != nil || len(hash) != len(k.Hash) || len(o.ID) != 8 || o.Name == "" || o.Created.IsZero() {
		return k,
			fmt.Errorf("the key %q lacks a member or its sha256 is wrong; import what grense key export printed", o.ID)
	}
	terms, err := termsFlags{o.Scopes, o.Origins, o.Rate, o.Quota, o.Note}.terms()
	if err != nil {
		return k, fmt.Errorf("the key %q cannot be imported: %w", o.ID, err)
	}
	k = state.Key{ID: o.ID, Name: o.Name, Created: o.Created, Terms: terms}
	copy(k.Hash[:], hash)
	for from, to := range map[*time.Time]*time.Time{o.LastUsed: &k.LastUsed, o.Expires: &k.Expires,
		o.Revoked: &k.Revoked} {
		if from != nil {
			*to = *from
		}
	}
	return k, nil
}

func (p *process) printJSON(v any) error {
	enc := json.NewEncoder(p.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type keyRotateCmd struct {
	ID      string `arg:"" help:"Id of the key that is replaced, as listed."`
	Overlap string `default:"14d" placeholder:"DAYS" help:"How long the old key stays valid. Defaults to 14d; 0d ends it at once."`
	Expires string `placeholder:"WHEN" help:"When the new key ends: a day, 2027-01-01 (UTC), or a number of days, 90d. Default: never."`
	JSON    bool   `name:"json" help:"Print an object with key, id, name and times instead of the key alone."`
	keyFlags
}

func (keyRotateCmd) Help() string {
	return `The new key has the name, scopes, limits and note of the old one. Both are valid until the overlap ends, so that clients can be moved one by one.

Examples:
  grense key rotate 4fZk01Qd
  grense key rotate 4fZk01Qd --overlap 30d --expires 365d`
}

func (c *keyRotateCmd) Run(ctx context.Context, p *process) error {
	now := time.Now()
	until, err := overlapEnd(c.Overlap, now)
	if err != nil {
		return err
	}
	expires, err := apikey.ParseExpiry(c.Expires, now)
	if err != nil {
		return err
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	keys, err := st.Keys(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the keys: %w", err)
	}
	at := slices.IndexFunc(keys, func(k state.Key) bool { return k.ID == c.ID })
	if at < 0 || apikey.Status(keys[at], now) != "active" {
		return fmt.Errorf("no active key has the id %s; see grense key list", c.ID)
	}
	key, rec, err := apikey.New(keys[at].Name, expires, now)
	if err != nil {
		return err
	}
	rec.Terms = keys[at].Terms
	if err := st.RotateKey(ctx, c.ID, until, rec); err != nil {
		return fmt.Errorf("cannot store the key: %w", err)
	}
	fmt.Fprintf(p.Stderr, "Key %s is valid until %s.\n", c.ID, until.UTC().Format(time.DateTime+" UTC"))
	return p.printKey(key, rec, c.JSON)
}

// overlapEnd returns the end of an overlap such as 14d that begins now.
func overlapEnd(days string, now time.Time) (time.Time, error) {
	if days == "0d" {
		return now, nil
	}
	until, err := apikey.ParseExpiry(days, now)
	if err != nil || until.IsZero() || !strings.HasSuffix(days, "d") {
		return until, fmt.Errorf("--overlap: %q is not a number of days; write for example 14d", days)
	}
	return until, nil
}

// keys returns all keys.
func (f keyFlags) keys(ctx context.Context, p *process) ([]state.Key, error) {
	st, err := f.openState(ctx, p)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	keys, err := st.Keys(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read the keys: %w", err)
	}
	return keys, nil
}

type keyExportCmd struct {
	JSON bool `name:"json" help:"For scripts: the output is JSON in any case."`
	keyFlags
}

func (keyExportCmd) Help() string {
	return `Prints the records of all keys. They hold hashes and no keys, so that clients go on with the keys that they have.

Examples:
  grense key export > keys.json
  grense key export --source postgres://grense@db.example.org/divisions | grense key import --data-dir new`
}

func (c *keyExportCmd) Run(ctx context.Context, p *process) error {
	keys, err := c.keys(ctx, p)
	if err != nil {
		return err
	}
	list := []keyObject{}
	for _, k := range keys {
		o := keyObjectOf(k)
		o.Status, o.Hash = "", hex.EncodeToString(k.Hash[:])
		list = append(list, o)
	}
	return p.printJSON(list)
}

type keyImportCmd struct {
	JSON bool `name:"json" help:"Print an object."`
	keyFlags
}

func (keyImportCmd) Help() string {
	return `Reads from standard input. Keys whose ids exist stay as they are. All are added, or none.

Examples:
  grense key import < keys.json
  grense key import --source postgres://grense@db.example.org/divisions < keys.json`
}

// maxKeysFile is the largest input of key import, in bytes.
const maxKeysFile = 64 << 20

func (c *keyImportCmd) Run(ctx context.Context, p *process) error {
	var list []keyObject
	if err := json.NewDecoder(io.LimitReader(p.Stdin, maxKeysFile)).Decode(&list); err != nil {
		return fmt.Errorf("cannot read the keys: %w; import what grense key export printed", err)
	}
	keys := make([]state.Key, len(list))
	for i, o := range list {
		k, err := o.record()
		if err != nil {
			return err
		}
		keys[i] = k
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	added, err := st.ImportKeys(ctx, keys)
	if err != nil {
		return fmt.Errorf("cannot store the keys: %w", err)
	}
	if c.JSON {
		return p.printJSON(map[string]int{"added": added, "existed": len(keys) - added})
	}
	_, err = fmt.Fprintf(p.Stdout, "%s added, %d existed\n", count(added, "key"), len(keys)-added)
	return err
}

type keyGenerateCmd struct{}

func (keyGenerateCmd) Help() string {
	return `The setting first_key_file names a file with such a key. serve stores it if there is no key yet.

Examples:
  grense key generate > first-key
  GRENSE_FIRST_KEY_FILE=first-key grense serve kommuner.gpkg`
}

func (keyGenerateCmd) Run(p *process) error {
	_, err := fmt.Fprintln(p.Stdout, apikey.Generate())
	return err
}

type keyListCmd struct {
	JSON bool `name:"json" help:"Print a list of objects."`
	keyFlags
}

func (keyListCmd) Help() string {
	return `Keys themselves are not stored, and cannot be listed.

Examples:
  grense key list --json
  grense key list --source postgres://grense@db.example.org/divisions`
}

func (c *keyListCmd) Run(ctx context.Context, p *process) error {
	keys, err := c.keys(ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		list := []keyObject{}
		for _, k := range keys {
			list = append(list, keyObjectOf(k))
		}
		return p.printJSON(list)
	}
	if len(keys) == 0 {
		fmt.Fprintln(p.Stderr, "There are no keys. Create one: grense key create --name NAME")
		return nil
	}
	t := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tSTATUS\tCREATED\tLAST USED\tEXPIRES\tTERMS")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, apikey.Status(k, time.Now()), day(k.Created),
			day(k.LastUsed), day(k.Expires), termsText(k.Terms))
	}
	return t.Flush()
}

// termsText prints what a key may be used for in one line; a hyphen for everything.
func termsText(t state.Terms) string {
	parts := append(strings.Fields(t.Scopes), strings.Fields(t.Origins)...)
	if t.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%d/s", t.Rate))
	}
	if t.Quota > 0 {
		parts = append(parts, fmt.Sprintf("%d/day", t.Quota))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, " ")
}

// day returns the date of t in UTC, or a hyphen for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

type keyRevokeCmd struct {
	ID   string `arg:"" help:"Id of the key, as listed."`
	JSON bool   `name:"json" help:"Print an object."`
	keyFlags
}

func (keyRevokeCmd) Help() string {
	return `Running servers refuse the key within 5 seconds. To replace a key without an interruption, use grense key rotate.

Examples:
  grense key revoke 4fZk01Qd
  grense key revoke 4fZk01Qd --source postgres://grense@db.example.org/divisions`
}

func (c *keyRevokeCmd) Run(ctx context.Context, p *process) error {
	id := c.ID
	if whole, err := apikey.Parse(id); err == nil {
		id = whole
	}
	st, err := c.openState(ctx, p)
	if err != nil {
		return err
	}
	defer st.Close()
	switch err := st.RevokeKey(ctx, id, time.Now()); {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("no key has the id %s; see grense key list", id)
	case err != nil:
		return fmt.Errorf("cannot revoke the key: %w", err)
	}
	if c.JSON {
		return p.printJSON(map[string]string{"id": id, "status": "revoked"})
	}
	_, err = fmt.Fprintf(p.Stdout, "Key %s is revoked; running servers refuse it within 5 seconds.\n", id)
	return err
}
