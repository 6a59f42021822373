package gpkg_test
import ("testing";"context";"os";"fmt";"syscall";"time";"grense/internal/cql2";"grense/internal/store";"grense/internal/store/gpkg")
func cpu() time.Duration { var u syscall.Rusage; syscall.Getrusage(0,&u); return time.Duration(u.Utime.Nano()+u.Stime.Nano()) }
func TestTA(t *testing.T){
 path:=os.Getenv("TA"); dir:="/tmp/official/ta-side"; os.MkdirAll(dir,0o755)
 s,err:=gpkg.Open(context.Background(),path,gpkg.Options{DataDir:dir}); if err!=nil{t.Fatal(err)}; defer s.Close()
 for _,coll:=range []string{"stedsnavn","sted"} {
 c,_:=s.Catalog().Collection(coll); fmt.Println(coll,c.SearchNames(),c.Count)
 for _,q:=range []string{"o","os","be","st","ber","stor","berg","storfj","nes","x","nord vest","berget n"} {
  for _,count:=range []store.Count{store.CountExact,store.CountNone}{
   se:=cql2.Search{Props:c.SearchNames(),Terms:[]string{q}}
   run:=func() int { p,err:=s.Page(context.Background(),store.Query{Collection:coll,Filter:se,Rank:&se,Limit:10,Count:count}); if err!=nil{t.Fatal(err)}; return p.Matched }
   m:=run(); best:=time.Hour
   for r:=0;r<5;r++{ t0:=cpu(); n:=0; for n<5 {run();n++}; if d:=(cpu()-t0)/time.Duration(n); d<best{best=d} }
   fmt.Printf("%-10s %-10q count=%v matched=%d cpu=%v\n",coll,q,count==store.CountExact,m,best)
  }}}
}
