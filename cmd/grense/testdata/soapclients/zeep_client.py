"""Asks the eleven searches with zeep in strict mode and prints decoded values: zeep_client.py WSDL KEY < requests.json"""
import datetime, json, sys
import requests
from zeep import Client, Settings
from zeep.helpers import serialize_object
from zeep.transports import Transport

session = requests.Session()
session.trust_env = False
session.headers["X-API-Key"] = sys.argv[2]
client = Client(sys.argv[1], settings=Settings(strict=True), transport=Transport(session=session))


def flat(path, v, out):
    if v is None or v == "":
        return
    if isinstance(v, dict) and list(v) == ["item"]:  # a list
        v = v["item"] or []
    if isinstance(v, dict):
        for k in v:
            flat(path + "." + k, v[k], out)
    elif isinstance(v, list):
        for i, x in enumerate(v):
            flat("%s[%d]" % (path, i), x, out)
    elif isinstance(v, bool):
        out.append(path + "=" + str(v).lower())
    elif isinstance(v, datetime.datetime):
        out.append(path + "=" + v.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    else:
        out.append(path + "=" + (v.isoformat() if hasattr(v, "isoformat") else str(v)))


for n, r in enumerate(json.load(sys.stdin)):
    hits = serialize_object(getattr(client.service, r["operation"])(**r["parameters"]), dict) or []
    out = []
    flat("%d.%s" % (n, r["operation"]), hits if isinstance(hits, list) else hits.get("item") or [], out)
    print("\n".join(sorted(out)))
